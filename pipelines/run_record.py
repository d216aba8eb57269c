"""``run.json``: what a finished run says of itself, and whether its files are still as it says."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
from apache_beam.io.filesystems import FileSystems

from pipelines.paths import STORE_THREADS, is_local
from pipelines.run_files import RunFiles, output_errors
from tokenize_lib.errors import OutputError

RECORD = "run.json"
COSTS = "costs.parquet"
"""What ``tokenbeam cost`` adds to a finished count, and replaces."""
_HELD = ("command", "options", "outputs")


def read_record(files: RunFiles) -> dict[str, Any] | None:
    """Read the ``run.json`` of a directory; None when there is none.

    Raises:
        OutputError: It is no record of a run.
    """
    record = files.read_json(RECORD)
    if record is None:
        return None
    # A training run is told from a count by its command alone, before anything else of it is used.
    if isinstance(record, dict) and all(name in record for name in _HELD):
        return record
    raise OutputError(
        f"{files.path(RECORD)} is no record of a finished run of tokenbeam: run it anew, or name another directory"
    )


def damage(files: RunFiles, record: Mapping[str, Any], *folders: str) -> str | None:
    """Say which output is not as ``run.json`` says, by its size and its rows; None if all are. Nothing is read through.

    Args:
        files: The run.
        record: Its ``run.json``.
        folders: The outputs to look at, by how their names begin; all by default.
    """
    written = [output for output in record["outputs"] if output["name"] != COSTS]
    outputs = [output for output in written if not folders or output["name"].startswith(folders)]
    with ThreadPoolExecutor(STORE_THREADS) as pool:
        found = pool.map(lambda output: _damage(files, output), outputs)
        return next((said for said in found if said is not None), None)


def _damage(files: RunFiles, output: Mapping[str, Any]) -> str | None:
    name, wanted = str(output["name"]), (output["bytes"], output.get("rows"))
    path = files.path(name)
    if not files.exists(name):
        return f"{path} is missing, which was written with {_said(*wanted)}: the run is damaged"
    size, rows = _size(path), None
    if wanted[1] is not None:
        try:
            with output_errors(path, "read"), files.open_parquet(name) as table:
                rows = table.metadata.num_rows
        except (pa.ArrowException, OutputError):
            return (
                f"{path} is no whole table ({size:,} bytes) and was written with {_said(*wanted)}: the run is damaged"
            )
    if (size, rows) == wanted:
        return None
    return f"{path} has {_said(size, rows)} and was written with {_said(*wanted)}: the run is damaged"


def _said(size: int, rows: int | None) -> str:
    return f"{size:,} bytes" if rows is None else f"{rows:,} rows in {size:,} bytes"


def _size(path: str) -> int:
    with output_errors(path, "looked up"):
        if is_local(path):
            return Path(path).stat().st_size
        [found] = FileSystems.match([path])
        return sum(metadata.size_in_bytes for metadata in found.metadata_list)
