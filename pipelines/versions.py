"""The versions that a result depends on, for run.json and ``--version``."""

import importlib
import importlib.metadata
import platform


def tokenbeam_version() -> str:
    """Give the version of the installed package; ``source`` when it runs without being installed."""
    try:
        return importlib.metadata.version("tokenbeam")
    except importlib.metadata.PackageNotFoundError:
        return "source"


def versions() -> dict[str, str]:
    """Give the versions of tokenbeam, Python and what it runs on, by name."""
    native = importlib.import_module("tokenize_lib._native")  # here, as `--version` must not load the kernel
    return {
        "tokenbeam": tokenbeam_version(),
        "python": platform.python_version(),
        "apache-beam": importlib.metadata.version("apache-beam"),
        "pyarrow": importlib.metadata.version("pyarrow"),
        "unicode": str(getattr(native, "UNICODE_VERSION", "unknown")),
    }
