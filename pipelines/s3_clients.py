"""One S3 client for a process: Beam makes a new one for every file that it opens, looks up, renames or removes.

A client of boto3 takes 0.1 s of CPU to make and, kept, a few ms to use: with a new one each, 50,000 objects take hours.
Clients may be used by many threads at a time, as boto3's guide says of them, and renew their credentials.
"""

import functools
import importlib
import sys
import threading
from typing import Any

_CONNECT_SECONDS = 5.0  # five attempts are made; boto3 would wait a minute in each where nothing answers

_lock = threading.Lock()


def keep_s3_clients() -> None:
    """Let Beam's S3 filesystem, if it has been imported with its packages, use one client again and again."""
    beams: Any = sys.modules.get("apache_beam.io.aws.clients.s3.boto3_client")
    if beams is not None and beams.boto3 is not None and not isinstance(beams.boto3, _Boto3):
        beams.boto3 = _Boto3()


class _Boto3:
    """All that Beam uses of the module ``boto3``: ``boto3.session.Session().client(...)``."""

    def __init__(self) -> None:
        self.session = self

    def Session(self) -> "_Boto3":  # noqa: N802 - as boto3 has it
        return self

    def client(self, **options: Any) -> Any:
        with _lock:  # sessions are not safe to share, and two threads would make two clients
            return _client(**options)


@functools.cache
def _client(**options: Any) -> Any:
    config = importlib.import_module("botocore.config").Config(connect_timeout=_CONNECT_SECONDS)
    return importlib.import_module("boto3.session").Session().client(**options, config=config)
