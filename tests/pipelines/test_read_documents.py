"""The reading step on Beam: the same documents, tallies and bad records on every runner mode, and from remote paths."""

import gzip
import pickle
from pathlib import Path

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

from pipelines import progress
from pipelines.bad_records import number_bad_records
from pipelines.document_batches import DocumentBatch, DocumentBatchCoder
from pipelines.documents import ReadDocuments, total_tally
from pipelines.inputs import ReadOptions, plan_input
from tests.pipelines.object_store import in_store
from tests.pipelines.reading import read, rows_of
from tokenize_lib.errors import InputError


class ToRows(beam.DoFn):
    def process(self, batch: DocumentBatch):
        for _, position, text, _ in rows_of("", batch):
            yield ("document", batch.source, position, text)


def write_corpus(directory: Path) -> None:
    (directory / "a.txt").write_bytes(b"".join(b"line %d\n" % number for number in range(5000)))
    (directory / "b.jsonl").write_bytes(b'{"text": "good"}\n\n{"text": 1}\n' * 300)
    (directory / "c.txt.gz").write_bytes(gzip.compress(b"packed\n\n" * 1000))
    pq.write_table(pa.table({"text": ["row", None] * 500}), directory / "d.parquet", row_group_size=100)


def run(patterns: list[str], output: Path, mode: str, **options: object) -> tuple[list, list, list]:
    """Runs the step and collects its outputs through files, for every mode has its own processes or threads."""
    read_options = ReadOptions(**options)
    plan = plan_input(patterns, read_options, split_bytes=4000)
    beam_options = PipelineOptions(
        [f"--direct_running_mode={mode}", "--direct_num_workers=2"], experiments=["disable_logging_submission"]
    )
    with beam.Pipeline(FnApiRunner(), options=beam_options) as pipeline:
        outputs = pipeline | ReadDocuments(
            list(plan.groups()), read_options, step=f"test {output.name}", block_bytes=700
        )
        rows = outputs.documents | "Rows" >> beam.ParDo(ToRows())
        rest = (
            outputs.tallies | "Tallies" >> beam.Map(lambda tally: ("tally", tally)),
            outputs.bad | "Bad" >> beam.Map(lambda bad: ("bad", bad)),
        )
        everything = (rows, *rest) | beam.Flatten() | beam.combiners.ToList()
        _ = everything | beam.ParDo(SaveOnce(str(output)))
    found = pickle.loads(output.read_bytes())  # noqa: S301 (written above)
    documents = sorted(row[1:] for row in found if row[0] == "document")
    tallies = [tally for row in found if row[0] == "tally" for tally in row[1]]
    bad = number_bad_records(tallies, [row[1] for row in found if row[0] == "bad"]).to_pylist()
    return documents, tallies, bad


class SaveOnce(beam.DoFn):
    def __init__(self, path: str) -> None:
        self._path = path

    def process(self, found: list) -> None:
        Path(self._path).write_bytes(pickle.dumps(found))


@pytest.mark.parametrize("mode", ["in_memory", "multi_threading", "multi_processing"])
def test_every_runner_mode_reads_the_same(tmp_path: Path, mode: str) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    write_corpus(corpus)
    documents, tallies, bad = run([str(corpus)], tmp_path / mode, mode, on_bad_record="skip")
    alone = read(corpus, on_bad_record="skip")
    assert [text for _, _, text in documents] == alone.texts
    assert [position for _, position, _ in documents] == alone.positions
    assert bad == alone.bad
    assert len(bad) == 800
    total = total_tally(tallies)
    assert (total.kept, total.empty, total.bad, total.rows) == (
        5000 + 300 + 1000 + 500,
        1000,
        800,
        5000 + 900 + 2000 + 1000,
    )
    if mode != "multi_processing":
        counts = progress.counts_of(f"test {mode}")
        assert counts.bytes == sum(path.stat().st_size for path in corpus.iterdir())
        assert counts.documents == 5000 + 600 + 2000 + 1000


def test_remote_paths_read_as_local_ones(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    (tmp_path / "_SUCCESS").write_bytes(b"hidden")
    (tmp_path / "below").mkdir()
    (tmp_path / "below/e.txt").write_bytes(b"below\n")
    local = read(tmp_path, on_bad_record="skip", split_bytes=999, block_bytes=100)
    for pattern in (in_store(tmp_path), in_store(tmp_path) + "/", in_store(tmp_path / "**")):
        remote = read(pattern, on_bad_record="skip", split_bytes=999, block_bytes=100)
        assert remote.texts == local.texts
        assert remote.positions == local.positions
        assert remote.documents[0][0] == in_store(tmp_path / "a.txt")
    assert len(read(in_store(tmp_path / "a.txt")).texts) == 5000
    assert len(read(in_store(tmp_path / "*.txt")).texts) == 5000
    with pytest.raises(InputError, match=r"objects://.*nothing: no such file or directory"):
        read(in_store(tmp_path / "nothing"))
    with pytest.raises(
        InputError, match=r"^noscheme://bucket/a.txt: no filesystem opens noscheme://: give a local path"
    ):
        read("noscheme://bucket/a.txt")


def test_a_batch_survives_being_sent(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "a", "id": 1}\n{"text": "b"}\n')
    documents = pa.RecordBatch.from_pydict({"position": [0], "text": pa.array([b"a"], pa.large_binary()), "id": ["1"]})
    coder = DocumentBatchCoder()
    sent = coder.decode(coder.encode(DocumentBatch(7, documents)))
    assert sent.source == 7
    assert sent.documents.equals(documents)
    assert beam.coders.registry.get_coder(DocumentBatch) == coder
