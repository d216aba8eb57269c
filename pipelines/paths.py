"""Paths: on this machine, or on a filesystem that Beam opens by what stands before ``://``."""

import importlib.util

from apache_beam.io.filesystem import FileSystem
from apache_beam.io.filesystems import FileSystems

# Beam has a filesystem for each of these only with the extra, or has one that needs the module.
_EXTRAS = {
    "s3": ("aws", "boto3"),
    "gs": ("gcp", "google.cloud.storage"),
    "azfs": ("azure", "azure.storage.blob"),
    "hdfs": ("hadoop", "hdfs"),
}
_OF_THE_WEB = ("http", "https", "ftp")


def is_local(path: str) -> bool:
    """Tell whether a path lies in this machine's filesystem."""
    return FileSystems.get_scheme(path) is None


def filesystem_obstacle(path: str) -> str | None:
    """Say in one line why nothing opens a path, and what to do; None if its filesystem is there."""
    scheme = FileSystems.get_scheme(path)
    if scheme is None:
        return None
    if scheme in _OF_THE_WEB:
        return f"{path} is a web address, which no filesystem of Beam opens: download it first"
    if scheme == "file":
        return f"{path}: give the path without file://"
    extra, module = _EXTRAS.get(scheme, ("", ""))
    if extra and not _is_installed(module):
        return f"{path}: {scheme}:// needs more packages: pip install 'apache-beam[{extra}]'"
    known = {filesystem.scheme() for filesystem in FileSystem.get_all_subclasses()}
    if scheme in known:
        return None
    names = ", ".join(f"{name}://" for name in _EXTRAS)
    return f"{path}: no filesystem opens {scheme}://: give a local path, or one of {names}"


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the package that it is in
        return False
