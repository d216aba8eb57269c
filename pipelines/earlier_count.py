"""What an earlier count has to offer to a new one: the rows of all files that have not changed since."""

import dataclasses
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.documents import Tally
from pipelines.input_hashes import InputHashes
from pipelines.inputs import InputFile, InputPlan, Split
from pipelines.paths import STORE_THREADS
from pipelines.progress import Talk
from pipelines.run_directory import RunPlan, option_difference
from pipelines.run_files import RunFiles
from pipelines.run_record import damage, read_record
from pipelines.versions import versions
from schemas.bad_records import BAD_RECORDS
from tokenize_lib.errors import InputError, OptionError

_operations: Any = pc


@dataclasses.dataclass(frozen=True)
class RowGroup:
    """A row group of the earlier run's ``documents/``. Its sources, where the file says so."""

    name: str
    number: int
    first_source: str | None
    last_source: str | None


@dataclasses.dataclass(frozen=True)
class EarlierRows:
    """Where the rows of unchanged files are, for a worker.

    Attributes:
        files: The earlier run's files.
        row_groups: Those that may have some.
        places: By ordinal of the file, which of them: from the first up to but without the second number.
    """

    files: RunFiles
    row_groups: tuple[RowGroup, ...]
    places: Mapping[int, tuple[int, int]]

    def of(self, splits: Sequence[Split]) -> "EarlierRows":
        """Give what these splits need."""
        ordinals = sorted({split.file.ordinal for split in splits} & self.places.keys())
        first = min((self.places[ordinal][0] for ordinal in ordinals), default=0)
        end = max((self.places[ordinal][1] for ordinal in ordinals), default=0)
        places = {ordinal: (self.places[ordinal][0] - first, self.places[ordinal][1] - first) for ordinal in ordinals}
        return EarlierRows(self.files, self.row_groups[first:end], places)


class EarlierReader:
    """Reads rows of splits in their order, each row group once."""

    def __init__(self, rows: EarlierRows) -> None:
        self._rows = rows
        self._loaded: RowGroup | None = None

    def holds(self, split: Split) -> bool:
        """Whether the split's file was counted before."""
        return split.file.ordinal in self._rows.places

    def read(self, split: Split) -> Iterator[pa.RecordBatch]:
        """Give the rows of a split, as the earlier run wrote them."""
        whole = split.file.compression != "none" or split.start == split.end
        for group in self._rows.row_groups[slice(*self._rows.places[split.file.ordinal])]:
            self._load(group)
            first, end = self._places.get(split.file.path, (0, 0))
            if not whole:
                # Positions ascend within a file.
                first, end = first + np.searchsorted(self._positions[first:end], [split.start, split.end])
            if end > first:
                yield self._batch.slice(first, end - first)

    def _load(self, group: RowGroup) -> None:
        if group == self._loaded:
            return
        with self._rows.files.open_parquet(group.name) as table:
            [self._batch] = table.read_row_group(group.number).combine_chunks().to_batches()
        self._positions = self._batch["position"].to_numpy()
        source: Any = self._batch["source"]
        codes, names = source.indices.to_numpy(), source.dictionary.to_pylist()
        starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])).tolist()
        self._places = {names[codes[start]]: (start, end) for start, end in pairwise([*starts, len(codes)])}
        self._loaded = group


@dataclasses.dataclass(frozen=True)
class EarlierCount:
    """An earlier run, as far as a new one can use it.

    Attributes:
        root: Its directory.
        unchanged: The new run's files that it counted as they are now.
        hashes: What was found out about files to know that, by path.
        rows: Where their documents are.
        bad: Their bad records, by `schemas.bad_records`.
        tallies: What else their records came to.
    """

    root: str
    unchanged: tuple[InputFile, ...]
    hashes: Mapping[str, Mapping[str, str | int]]
    rows: EarlierRows
    bad: pa.Table
    tallies: tuple[Tally, ...]

    @classmethod
    def of(cls, root: str, record: Mapping[str, Any], plan: InputPlan, talk: Talk) -> "EarlierCount | None":
        """Look at an earlier run; None if nothing of it may be used, which is then told.

        Args:
            root: Its directory.
            record: What `earlier_record` gave.
            plan: The new run's files.
            talk: Where to tell.
        """
        files = RunFiles(root.rstrip("/") or "/")
        if reason := _unusable(record):
            talk.warn(f"--incremental: all files are counted, as {root} {reason}")
            return None
        before = {file["path"]: file for file in record["inputs"]}
        same_size = [file for file in plan.files if before.get(file.path, {}).get("bytes") == file.bytes]
        with InputHashes(same_size) as hashing:
            hashes = {str(found["path"]): found for found in hashing.result()}
        unchanged = tuple(file for file in same_size if _same(before[file.path], hashes[file.path]))
        bad = _bad_records(files, record, {file.path for file in unchanged})
        return cls(
            root=files.root,
            unchanged=unchanged,
            hashes=hashes,
            rows=_rows(files, record, unchanged),
            bad=bad,
            tallies=tuple(_tallies(unchanged, before, bad)),
        )


def earlier_record(root: str, run_plan: RunPlan) -> dict[str, Any]:
    """Give the ``run.json`` of an earlier run that counted alike.

    Args:
        root: Its directory.
        run_plan: What the new run is to do.

    Raises:
        InputError: There is no finished count, or a file of it is not as it was written.
        OptionError: It counted otherwise.
    """
    files = RunFiles(root.rstrip("/") or "/")
    record = read_record(files)
    if record is None or record.get("command") != "count":
        raise InputError(f"--incremental {root}: there is no finished run of tokenbeam count")
    # Limits make no document's row.
    options = {**record["options"], "context_limits": run_plan.options["context_limits"]}
    if difference := option_difference(options, run_plan.options):
        raise OptionError(f"--incremental: the run in {root} {difference}: count alike, or leave it out")
    if (found := damage(files, record, "documents/", "bad_records/")) is not None:
        raise InputError(f"--incremental: {found}: leave it out to count all files, or name another run")
    return dict(record)


def _unusable(record: Mapping[str, Any]) -> str | None:
    now = versions()
    for name in ("tokenbeam", "unicode"):
        if record["versions"].get(name) != now[name]:
            return f"was counted with {name} {record['versions'].get(name)}, and this is {now[name]}"
    marked = any(record["records"].get(name) for name in ("mended", "not_nfc"))
    if record["options"]["document"] == "file" and marked:
        return "does not say which of its files were mended or are not NFC"
    return None


def _same(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    return any(before.get(kind) == now[kind] for kind in ("sha256", "etag") if kind in now)


def _bad_records(files: RunFiles, record: Mapping[str, Any], paths: set[str]) -> pa.Table:
    found = [BAD_RECORDS.empty_table()]
    for name in _outputs(record, "bad_records/"):
        with files.open_parquet(name) as table:
            rows = table.read()
        found.append(rows.filter(_operations.is_in(rows["source"], pa.array(sorted(paths), pa.string()))))
    return pa.concat_tables(table.replace_schema_metadata(BAD_RECORDS.metadata) for table in found)


def _tallies(unchanged: Sequence[InputFile], before: Mapping[str, Any], bad: pa.Table) -> Iterator[Tally]:
    """Give what the rows of documents do not say. Kept and empty ones are counted as they are read."""
    counted = {row["values"]: row["counts"] for row in _operations.value_counts(bad["source"]).to_pylist()}
    for file in unchanged:
        marks = {name: before[file.path].get(name, 0) for name in ("mended", "not_nfc")}
        yield Tally(file.ordinal, 0, bad=counted.get(file.path, 0), **marks)


def _rows(files: RunFiles, record: Mapping[str, Any], unchanged: Sequence[InputFile]) -> EarlierRows:
    with ThreadPoolExecutor(STORE_THREADS) as pool:
        by_part = pool.map(lambda name: _groups_of_part(files, name), _outputs(record, "documents/"))
        groups = [group for part in by_part for group in part]
    # Sources ascend from group to group.
    firsts = [group.first_source for group in groups if group.first_source is not None]
    lasts = [group.last_source for group in groups if group.last_source is not None]
    if len(firsts) != len(groups) or len(lasts) != len(groups):
        return EarlierRows(files, tuple(groups), {file.ordinal: (0, len(groups)) for file in unchanged})
    places = {file.ordinal: (bisect_left(lasts, file.path), bisect_right(firsts, file.path)) for file in unchanged}
    return EarlierRows(files, tuple(groups), places)


def _groups_of_part(files: RunFiles, name: str) -> list[RowGroup]:
    with files.open_parquet(name) as table:
        metadata = table.metadata
    found = []
    for number in range(metadata.num_row_groups):
        statistics = metadata.row_group(number).column(0).statistics
        ends: Any = (None, None)
        if statistics is not None and statistics.has_min_max:
            ends = (statistics.min, statistics.max)
        found.append(RowGroup(name, number, *ends))
    return found


def _outputs(record: Mapping[str, Any], folder: str) -> list[str]:
    return [file["name"] for file in record["outputs"] if file["name"].startswith(folder)]
