"""Whether S3 can be used at all, asked once a bucket before anything is read.

Beam tries each request again for eight minutes, whatever the reason, and says nothing meanwhile: also without
credentials, and where no server is.
"""

import functools
import importlib
from typing import Any
from urllib.parse import urlsplit

_CREDENTIALS = (
    "NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "ProfileNotFound",
    "TokenRetrievalError", "SSOError", "ConfigNotFound", "ConfigParseError",
)  # fmt: skip
_WHERE = "give them in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile of ~/.aws (AWS_PROFILE), or after --"


@functools.cache
def bucket_obstacle(bucket: str) -> str | None:
    """Say in words why nothing in a bucket can be read or written; None if a server answers, whatever it says.

    Args:
        bucket: Its name alone.
    """
    beams: Any = importlib.import_module("apache_beam.io.aws.clients.s3.boto3_client")
    filesystems: Any = importlib.import_module("apache_beam.io.filesystems")
    errors: Any = importlib.import_module("botocore.exceptions")
    try:
        beams.Client(filesystems.FileSystems._pipeline_options or {}).client.head_bucket(Bucket=bucket)  # noqa: SLF001 - as Beam makes its own
    except errors.ClientError:  # a server's answer, of which Beam tells more
        return None
    except (errors.BotoCoreError, ValueError) as error:
        return _in_words(error, errors)
    return None


def _in_words(error: Exception, errors: Any) -> str:
    said = " ".join(str(error).split()).rstrip(".")
    if isinstance(error, tuple(getattr(errors, name) for name in _CREDENTIALS)):
        return f"no credentials for S3 ({said}): {_WHERE} --s3_access_key_id and --s3_secret_access_key"
    if isinstance(error, (errors.ConnectionError, errors.HTTPClientError)):
        url = str(getattr(error, "kwargs", {}).get("endpoint_url") or "")
        host = f"{urlsplit(url).scheme}://{urlsplit(url).netloc}" if url else ""
        where = f"the endpoint {host}" if host else "the endpoint"
        return f"S3 does not answer: {where} ({type(error).__name__}): check the network, and -- --s3_endpoint_url"
    return f"S3 cannot be used: {said}"
