"""Importing Beam, and less of what it brings along: a command's first second is mostly that.

For a process in which Beam's own runner does the work. What is left out here is imported when something asks for it.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

# What Beam imports if it is there, and does without if it is not.
_NEVER_USED = frozenset({"pandas"})
_NOT_WITH_BEAM = frozenset(
    {
        "bson",
        "pymongo",
        "apache_beam.io.gcp.bigquery",
        # These are imported when a path asks for one: see pipelines.paths.
        "apache_beam.io.aws.s3filesystem",
        "apache_beam.io.azure.blobstoragefilesystem",
        "apache_beam.io.gcp.gcsfilesystem",
        "apache_beam.io.hadoopfilesystem",
    }
)
# What it cannot do without, and never uses in this process: loaded when it does, the whole module or one function.
_WHEN_USED = frozenset({"httplib2"})
_WHEN_CALLED = ("beartype", "beartype.door", "beartype.roar")
_USER = "apache_beam.typehints.typehints"  # the one module of Beam that imports from those


def import_less() -> None:
    """Keep Beam and pyarrow from importing what nothing here uses: half a second, with all of it installed."""
    sys.meta_path.insert(0, _LeanImports)


class _LeanImports:
    """An import finder that has none of these, most of them only until Beam is imported whole; or loads them late."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        _withdraw_stand_ins()
        if name in _NEVER_USED or (name in _NOT_WITH_BEAM and not _is_beam_ready()):
            raise ModuleNotFoundError(f"{name} is left out", name=name)
        if name in _WHEN_CALLED and not _is_beam_ready() and _USER in sys.modules:
            return importlib.machinery.ModuleSpec(name, _StandIn(), is_package="." not in name)
        if name not in _WHEN_USED:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = importlib.util.LazyLoader(spec.loader)
        return spec


def _is_beam_ready() -> bool:
    return hasattr(sys.modules.get("apache_beam"), "__version__")  # which it sets last


class _StandIn(importlib.abc.Loader):
    """Gives Beam what it takes from beartype, which compares types: a function that is replaced when it is called."""

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == "beartype.door":
            module.is_subhint = _is_subhint  # type: ignore[attr-defined]
        elif module.__name__ == "beartype.roar":
            module.BeartypeDoorException = _NotRaisedYet  # type: ignore[attr-defined]


class _NotRaisedYet(Exception):  # noqa: N818 - in the place of an exception that nothing can raise before it is replaced
    pass


def _withdraw_stand_ins() -> None:
    """Once Beam has taken what it needs, beartype is itself for all others."""
    if hasattr(sys.modules.get(_USER), "BeartypeDoorException"):
        for name in _WHEN_CALLED:
            if isinstance(getattr(sys.modules.get(name), "__loader__", None), _StandIn):
                del sys.modules[name]


def _is_subhint(*hints: Any) -> bool:
    _withdraw_stand_ins()
    user = sys.modules[_USER]
    user.is_subhint = importlib.import_module("beartype.door").is_subhint  # type: ignore[attr-defined]
    user.BeartypeDoorException = importlib.import_module("beartype.roar").BeartypeDoorException  # type: ignore[attr-defined]
    return bool(user.is_subhint(*hints))
