"""Paths: on this machine, or on a filesystem that Beam opens by what stands before ``://``.

Beam is imported for the latter alone: a local input is listed, and its hashing begun, before that has been done.
"""

import contextlib
import importlib
import importlib.util
import re
import sys

from pipelines.s3_clients import keep_s3_clients

_SCHEME = re.compile("([a-zA-Z][-a-zA-Z0-9+.]*)://.*")  # as FileSystems.get_scheme of Beam has it
# Beam has a filesystem for each of these only with the extra, or has one that needs the module.
_EXTRAS = {
    "s3": ("aws", "boto3"),
    "gs": ("gcp", "google.cloud.storage"),
    "azfs": ("azure", "azure.storage.blob"),
    "hdfs": ("hadoop", "hdfs"),
}
_MODULES = {
    "s3": "apache_beam.io.aws.s3filesystem",
    "gs": "apache_beam.io.gcp.gcsfilesystem",
    "azfs": "apache_beam.io.azure.blobstoragefilesystem",
    "hdfs": "apache_beam.io.hadoopfilesystem",
}
_ERRORS = (
    ("apache_beam.io.aws.clients.s3.messages", "S3ClientError"),
    ("google.api_core.exceptions", "GoogleAPIError"),
    ("azure.core.exceptions", "AzureError"),
    ("hdfs.util", "HdfsError"),
)
_OF_THE_WEB = ("http", "https", "ftp")
STORE_THREADS = 32
"""How many requests to an object store are made at a time: each mostly waits."""


def is_local(path: str) -> bool:
    """Tell whether a path lies in this machine's filesystem."""
    return scheme_of(path) is None


def escaped_name(path: str) -> str:
    r"""Give a path that can be written: each byte of it that is not UTF-8 as ``\xNN``."""
    return path.encode(errors="surrogateescape").decode(errors="backslashreplace")


def scheme_of(path: str) -> str | None:
    """Give what stands before ``://``; None for a path of this machine."""
    found = _SCHEME.match(path.strip())
    return None if found is None else found[1]


def filesystem_obstacle(path: str) -> str | None:
    """Say in one line why nothing opens a path, and what to do; None if its filesystem is there."""
    scheme = scheme_of(path)
    if scheme is None:
        return None
    if scheme in _OF_THE_WEB:
        return f"{path} is a web address, which no filesystem of Beam opens: download it first"
    if scheme == "file":
        return f"{path}: give the path without file://"
    extra, module = _EXTRAS.get(scheme, ("", ""))
    if extra and not _is_installed(module):
        return f"{path}: {scheme}:// needs more packages: pip install 'tokenbeam[{extra}]'"
    from apache_beam.io.filesystem import FileSystem  # noqa: PLC0415

    open_scheme(scheme)
    known = {filesystem.scheme() for filesystem in FileSystem.get_all_subclasses()}
    if scheme in known:
        return None
    names = ", ".join(f"{name}://" for name in _EXTRAS)
    return f"{path}: no filesystem opens {scheme}://: give a local path, or one of {names}"


def path_obstacle(path: str) -> str | None:
    """As `filesystem_obstacle`; then whether the store behind it can be used at all."""
    return filesystem_obstacle(path) or store_obstacle(path)


def store_obstacle(path: str) -> str | None:
    """Say why a path's store cannot be used; S3 alone is asked, where Beam would try for long."""
    if scheme_of(path) != "s3" or not _is_installed("boto3"):
        return None
    open_scheme("s3")
    from pipelines.s3_access import bucket_obstacle  # noqa: PLC0415 - for such paths alone

    bucket = path.strip().partition("://")[2].partition("/")[0]
    obstacle = bucket_obstacle(bucket) if bucket else None
    return None if obstacle is None else f"{path}: {obstacle}"


def open_scheme(scheme: str | None) -> None:
    """Import what opens a scheme, where the command has kept Beam from importing it with all the rest."""
    if scheme in _MODULES:
        with contextlib.suppress(ImportError):
            importlib.import_module(_MODULES[scheme])
    keep_s3_clients()


def store_errors() -> tuple[type[Exception], ...]:
    """Give what filesystems raise: Python and Beam an OSError, some packages behind remote ones errors of their own.

    Only of packages imported so far: from others comes none.
    """
    modules = ((sys.modules.get(module), name) for module, name in _ERRORS)
    return (OSError, *(getattr(module, name) for module, name in modules if module is not None))


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the package that it is in
        return False
