"""Where costs may be written: nothing but costs is ever replaced."""

import fnmatch
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.io.filesystems import FileSystems

from pipelines.paths import filesystem_obstacle, is_local
from pipelines.run_files import WORK, RunFiles, open_for_reading, output_errors
from pipelines.run_record import COSTS, RECORD
from schemas.dataset_costs import dataset_costs
from tokenize_lib.errors import OptionError, OutputError

_OF_THE_RUN = (RECORD, "summary.parquet", "documents", "documents/*", "bad_records", "bad_records/*", WORK, f"{WORK}/*")


def cost_output(files: RunFiles, output: str | None) -> str:
    """Give the file for the costs of a count, or refuse. Changes nothing.

    Args:
        files: The count.
        output: The file that is asked for; None for ``costs.parquet`` in the count's directory.

    Raises:
        OptionError: It is a directory, or a name that belongs to the count.
        OutputError: There is a file that holds no costs, or nothing can be written there.
    """
    path = files.path(COSTS) if output is None else output
    if (obstacle := filesystem_obstacle(path)) is not None:
        raise OutputError(obstacle)
    with output_errors(path, "written"):
        _refuse(files, path)
    return path


def _refuse(files: RunFiles, path: str) -> None:
    if path.rpartition("/")[2] in ("", ".", "..") or _is_directory(path):
        raise OptionError(
            f"-o {path or repr(path)} is a directory, and the costs are one file: name that, as "
            f"{path.rstrip('/') or files.root}/{COSTS}"
        )
    name = _name_in(files.root, path)
    if name is not None and any(fnmatch.fnmatchcase(name, pattern) for pattern in _OF_THE_RUN):
        raise OptionError(f"-o {path} belongs to the run that is priced: name another file, as {files.path(COSTS)}")
    _refuse_parent(path)
    if (kind := _other_kind(path)) is not None:
        raise OutputError(
            f"{path} is {kind}, not costs that tokenbeam wrote, so it is not replaced: name another file, or move "
            "this one away"
        )


def _is_directory(path: str) -> bool:
    if is_local(path):
        return Path(path).is_dir()
    if FileSystems.get_filesystem(path).has_dirs():
        return False  # what is there is read by `_other_kind`, which no directory can be
    [found] = FileSystems.match([f"{path}/*"], limits=[1])
    return bool(found.metadata_list)


def _name_in(root: str, path: str) -> str | None:
    """What a path is called in a directory; None if it does not lie there."""
    if is_local(root) and is_local(path):
        directory, file = Path(root).resolve(), Path(path).resolve()
        return file.relative_to(directory).as_posix() if file.is_relative_to(directory) else None
    return path[len(root) + 1 :] if path.startswith(f"{root}/") else None


def _refuse_parent(path: str) -> None:
    """Refuse a path below a file. A directory that is missing is made, as for the output of train and count."""
    if not is_local(path):
        return
    there = next(parent for parent in Path(path).absolute().parents if parent.exists())
    if not there.is_dir():
        raise OutputError(f"{path} cannot be written: {there} is a file; name another place")


def _other_kind(path: str) -> str | None:
    """Say what is there; None for nothing, or costs."""
    if not FileSystems.exists(path):
        return None
    if is_local(path) and not Path(path).is_file():
        return "no ordinary file"
    try:
        with open_for_reading(path) as file:
            schema = pq.read_schema(file)
    except pa.ArrowException:
        return "no Parquet file"
    said = (schema.metadata or {}).get(b"name")
    if said == b"costs" and set(dataset_costs(()).names) <= set(schema.names):
        return None
    return "a Parquet file of something else"
