"""Elements that are dealt out: the same from a graph and from a file, and a graph that does not grow with them."""

import apache_beam as beam
import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing.util import assert_that, equal_to

from pipelines.count_options import CountOptions
from pipelines.count_parts import CountPart
from pipelines.dealing import Deal, DealtFile
from pipelines.earlier_count import EarlierRows, RowGroup
from pipelines.inputs import InputFile, InputPlan, ReadOptions, Split
from pipelines.memory import MemoryShares
from pipelines.pretoken_table import PretokenPlan, count_pretokens
from pipelines.run_files import RunFiles
from pipelines.token_counts import CountPlan, count_parts
from tokenize_lib.training_options import TrainOptions

FILE = InputFile("s3://bucket/ព្រះ \u2028line.jsonl.zst", 3, 2**40, "jsonl", "zst", 1_700_000_000_123_456_789)
TABLE = InputFile("/data/rows.parquet", 4, 100, "parquet", "none")
GROUPS = [(Split(FILE, 0, 2**40, 2**40), Split(TABLE, 7, 9, 50, (1, 2))), (Split(TABLE, 0, 7, 50, (0,)),)]


def input_plan(files):
    found = [InputFile(f"s3://bucket/{number:06d}.jsonl", number, 1 << 20, "jsonl", "none") for number in range(files)]
    return InputPlan(tuple(found), tuple(Split(file, 0, file.bytes, file.bytes) for file in found))


def graph_bytes(build):
    pipeline = beam.Pipeline(FnApiRunner())
    build(pipeline)
    return len(pipeline.to_runner_api().SerializeToString())


def test_splits_come_back_from_their_file(tmp_path):
    dealt = DealtFile.write(RunFiles(str(tmp_path)), "splits.jsonl", GROUPS, tuple[Split, ...])
    assert dealt.name == ".work/plan/splits.jsonl"
    assert list(dealt.read()) == GROUPS


def test_parts_come_back_with_what_an_earlier_run_has_of_them(tmp_path):
    files = RunFiles(str(tmp_path))
    groups = (RowGroup("documents/part-00000.parquet", 0, "/data/rows.parquet", None),)
    elements = [(CountPart(0, GROUPS[0]), EarlierRows(files, groups, {4: (0, 1)})), (CountPart(1, GROUPS[1]), None)]
    dealt = DealtFile.write(files, "parts.jsonl", elements, tuple[CountPart, EarlierRows | None])
    assert list(dealt.read()) == elements


@pytest.mark.parametrize("in_file", [False, True])
def test_every_element_is_dealt_once(tmp_path, in_file):
    elements = [f"element {number}" for number in range(100)]
    written = DealtFile.write(RunFiles(str(tmp_path)), "strings.jsonl", elements, str)
    with beam.Pipeline(FnApiRunner()) as pipeline:
        assert_that(pipeline | Deal(written if in_file else elements), equal_to(elements))


def test_a_graph_is_as_large_for_few_files_as_for_many(tmp_path):
    files = RunFiles(str(tmp_path))
    read, shares = ReadOptions(), MemoryShares.of(1 << 30, 2)

    def training(inputs):
        plan = PretokenPlan(files=files, options=TrainOptions(), read=read, partitions=16, shares=shares)
        groups = DealtFile.write(files, "splits.jsonl", inputs.groups(), tuple[Split, ...])
        return graph_bytes(lambda pipeline: count_pretokens(pipeline, plan, groups))

    def counting(inputs):
        plan = CountPlan(files=files, options=CountOptions.load(["bytes"]), read=read, totals_bytes=1 << 20)
        parts = [CountPart(split.file.ordinal, (split,)) for split in inputs.splits]
        return graph_bytes(lambda pipeline: count_parts(pipeline, plan, parts))

    few, many = input_plan(1), input_plan(3000)
    assert training(many) == training(few)
    assert counting(many) == counting(few)
