"""Counting end to end: equal to the plain twin, and the same bytes however it is run."""

import gzip
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pipelines.count_parts
import pipelines.documents
import pipelines.run_files
import pipelines.token_counts
from pipelines.count import count
from pipelines.count_options import CountOptions
from pipelines.count_summary import CountSummary
from pipelines.inputs import ReadOptions
from pipelines.progress import Talk
from pipelines.run_mode import RunMode
from pipelines.runner import RuntimeOptions
from tests.oracles import counts
from tokenize_lib.errors import InputError, OptionError, OutputError

GIB = 1 << 30
UNITS = {"words": counts.UNITS["words"], "chars": counts.UNITS["chars"], "bytes": counts.UNITS["bytes"]}
READ = ReadOptions(id_field="meta.id", group_by=("lang", "source"), on_bad_record="skip")
TEXTS = [
    *("", "a", "the lower\tthe newest", "học sinh đi", "ភាសា\u200bខ្មែរ"),
    *("你好\u3000世界", "<|endoftext|> x", "\u2028", "\0"),
]


def records() -> list[dict]:
    made = []
    for number in range(240):
        record: dict = {"text": TEXTS[number % len(TEXTS)] * (1 + number % 4)}
        if number % 3:
            record["lang"] = ["km", "vi", ""][number % 3]
        if number % 5:
            record["meta"] = {"id": f"doc-{number}"}
        record["source"] = None if number % 7 == 0 else f"web{number % 2}"
        made.append(record)
    return made


def write_corpus(folder: Path) -> list[counts.Document]:
    """JSONL with bad lines, gzipped JSONL, Parquet and plain text; gives the documents in their order."""
    folder.mkdir(parents=True)
    size = 60
    documents = []

    def document(path: Path, position: int, record: dict) -> counts.Document:
        meta = record.get("meta") or {}
        return counts.Document(
            str(path), position, record["text"], meta.get("id"), (record.get("lang"), record.get("source"))
        )

    for shard in range(4):
        part = records()[shard * size : (shard + 1) * size]
        path = folder / ["0.jsonl", "1.jsonl.gz", "2.parquet", "3.txt"][shard]
        if shard < 2:
            position, lines = 0, []
            for number, record in enumerate(part):
                if number == 30 and shard == 0:
                    lines.append(b'{"text": "a\\ud800b"}\n{"txt": "none"}\n\n')
                    position += len(lines[-1])
                documents.append(document(path, position, record))
                lines.append(json.dumps(record, ensure_ascii=bool(number % 2)).encode() + b"\n")
                position += len(lines[-1])
            data = b"".join(lines)
            path.write_bytes(gzip.compress(data) if shard else data)
        elif shard == 2:
            rows = [{name: record.get(name) for name in ("text", "lang", "source", "meta")} for record in part]
            pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=7)
            documents += [document(path, row, record) for row, record in enumerate(part)]
        else:
            position = 0
            for record in part:
                documents.append(counts.Document(str(path), position, record["text"], None, (None, None)))
                position += len(record["text"].encode()) + 1
            path.write_text("".join(f"{r['text']}\n" for r in part), encoding="utf-8")
    return documents


def run(
    inputs: Sequence[str],
    output: Path,
    *,
    tokenizers: Sequence[str] = tuple(UNITS),
    read: ReadOptions = READ,
    memory: int = GIB,
    workers: int = 1,
    beam_args: tuple[str, ...] = (),
    resume: bool = False,
    replace: bool = False,
    incremental: Path | None = None,
    context_limits: Sequence[int] = (3, 0),
    talk: Talk | None = None,
) -> CountSummary:
    return count(
        inputs,
        str(output),
        options=CountOptions.load(tokenizers, context_limits=context_limits),
        read=read,
        runtime=RuntimeOptions(memory=memory, workers=workers, beam_args=beam_args),
        mode=RunMode(resume=resume, replace=replace),
        talk=talk or Talk(quiet=True),
        incremental=None if incremental is None else str(incremental),
    )


def result_hashes(output: Path) -> dict[str, str]:
    """Hashes of all that must not depend on how a run went."""
    return {
        str(path.relative_to(output)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(output.rglob("*.parquet"))
    }


def rows_of(output: Path) -> list[dict]:
    return [row for path in sorted(output.glob("documents/*.parquet")) for row in pq.read_table(path).to_pylist()]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(pipelines.count_parts, "_LEAST_PART_BYTES", 1 << 10)
    monkeypatch.setattr(pipelines.count_parts, "_FILE_COST", 100)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> tuple[str, list[counts.Document]]:
    folder = tmp_path_factory.mktemp("corpus") / "shards"
    documents = write_corpus(folder)
    return str(folder), documents


@pytest.fixture(scope="module")
def reference(corpus, tmp_path_factory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipelines.count_parts, "_LEAST_PART_BYTES", 1 << 10)
        patch.setattr(pipelines.count_parts, "_FILE_COST", 100)
        output = tmp_path_factory.mktemp("reference") / "run"
        run([corpus[0]], output)
    return output


def test_documents_equal_the_plain_twin(corpus, reference):
    assert len(list(reference.glob("documents/*.parquet"))) == 17
    columns = ("lang", "group_source")  # documents has a column source of its own
    assert rows_of(reference) == [counts.document_row(document, columns, UNITS) for document in corpus[1]]


def test_the_summary_equals_the_plain_twin(corpus, reference):
    found = pq.read_table(reference / "summary.parquet").to_pylist()
    assert found == counts.summary(corpus[1], ("lang", "group_source"), UNITS, [0, 3])
    assert len(found) == 1 + 9


def test_the_record_of_the_run(reference):
    record = json.loads((reference / "run.json").read_text())
    assert record["records"] == {"read": 242, "kept": 213, "empty": 27, "bad": 2, "mended": 0, "not_nfc": 0}
    assert record["tokenizers"] == [
        {"name": name, "column": name, "backend": "units", "spec": name, "digest": name} for name in UNITS
    ]
    assert record["options"]["tokenizers"] == list(UNITS)
    assert record["results"]["groups"] == 9
    bad = pq.read_table(reference / "bad_records/part-00000.parquet").to_pylist()
    assert [(row["row"], row["reason"]) for row in bad] == [
        (31, 'field "text" has a lone surrogate'),
        (32, 'no field "text"'),
    ]
    assert not (reference / ".work").exists()


@pytest.mark.parametrize(
    "way",
    [
        {"workers": 2},
        {"workers": 2, "beam_args": ("--direct_running_mode=multi_processing",)},
        {"workers": 1, "beam_args": ("--direct_running_mode=in_memory",)},
        {"memory": 1},
    ],
    ids=["threads", "processes", "in memory", "little memory"],
)
def test_the_same_bytes_however_it_is_run(corpus, reference, tmp_path, way):
    run([corpus[0]], tmp_path / "out", **way)
    assert result_hashes(tmp_path / "out") == result_hashes(reference)


def test_the_same_bytes_for_other_batches(corpus, reference, tmp_path, monkeypatch):
    monkeypatch.setattr(pipelines.token_counts, "_BLOCK_BYTES", 50)
    run([corpus[0]], tmp_path / "out")
    assert result_hashes(tmp_path / "out") == result_hashes(reference)


def test_the_same_rows_for_other_parts(corpus, reference, tmp_path, monkeypatch):
    monkeypatch.setattr(pipelines.count_parts, "_LEAST_PART_BYTES", 1 << 20)
    run([corpus[0]], tmp_path / "out")
    assert len(list(tmp_path.glob("out/documents/*.parquet"))) == 1
    assert rows_of(tmp_path / "out") == rows_of(reference)
    assert (tmp_path / "out" / "summary.parquet").read_bytes() == (reference / "summary.parquet").read_bytes()


@pytest.mark.parametrize("stop_after", [0, 4, 16])
def test_stopped_and_resumed(corpus, reference, tmp_path, monkeypatch, stop_after):
    counted = []
    counts_part = pipelines.token_counts._PartCount.run

    def stopping(part):
        if len(counted) == stop_after:
            raise KeyboardInterrupt
        counts_part(part)
        counted.append(part._part.number)

    monkeypatch.setattr(pipelines.token_counts._PartCount, "run", stopping)
    with pytest.raises(BaseException):  # noqa: B017, PT011 - as the runner hands it on
        run([corpus[0]], tmp_path / "out")
    before = list(counted)
    assert len(before) == stop_after
    monkeypatch.setattr(
        pipelines.token_counts._PartCount, "run", lambda part: (counts_part(part), counted.append(part._part.number))
    )
    run([corpus[0]], tmp_path / "out", resume=True)
    assert sorted(counted) == list(range(17))
    assert result_hashes(tmp_path / "out") == result_hashes(reference)


def test_other_tokenizers_are_no_resumed_run(corpus, reference):
    with pytest.raises(OutputError, match="has --tokenizer"):
        run([corpus[0]], reference, tokenizers=["words"], resume=True)
    assert run([corpus[0]], reference, resume=True).already_finished


def test_one_tokenizer_twice_counts_once():
    assert CountOptions.load(["words", "words", "chars"]).columns == ("words", "chars")


@pytest.mark.parametrize(
    ("specs", "limits", "message"),
    [([], [], "name a tokenizer"), (["words"], [-1], "--context-limit -1 is negative")],
)
def test_refused_options(specs, limits, message):
    with pytest.raises(OptionError, match=message):
        CountOptions.load(specs, context_limits=limits)


def test_the_first_bad_record_stops_a_run(corpus, tmp_path):
    with pytest.raises(InputError, match=r"0\.jsonl: row 31 \(at byte \d+\): field .text. has a lone surrogate"):
        run([corpus[0]], tmp_path / "out", read=ReadOptions())


def test_no_document_at_all(tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"txt": "a"}\n')
    for _ in range(2):  # what is of no use is not left in the way
        with pytest.raises(InputError, match="no document: all 1 records are bad"):
            run([str(tmp_path / "bad.jsonl")], tmp_path / "out")
        assert not (tmp_path / "out").exists()


def test_files_that_are_documents(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for name, text in {"a.txt": "one two\nthree", "b.txt": "", "c.txt": "\n"}.items():
        (folder / name).write_text(text)
    run([str(folder)], tmp_path / "out", tokenizers=["words"], read=ReadOptions(document="file"))
    assert [(row["bytes"], row["tokens_words"], row["position"]) for row in rows_of(tmp_path / "out")] == [
        (13, 3, 0),
        (0, 0, 0),
        (1, 0, 0),
    ]


@pytest.mark.parametrize("enough", [1, 7, 1 << 14])
def test_the_same_bytes_however_small_files_are_joined(tmp_path, monkeypatch, enough):
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(60):
        (folder / f"{number:02}.txt").write_text("word\n" * (number % 4))
    small_row_groups = pipelines.run_files.row_groups
    monkeypatch.setattr(pipelines.run_files, "row_groups", lambda *args: small_row_groups(*args, most_rows=5))
    run([str(folder)], tmp_path / "together", tokenizers=["words"], read=ReadOptions())
    monkeypatch.setattr(pipelines.token_counts, "_ENOUGH_ROWS", enough)
    run([str(folder)], tmp_path / "out", tokenizers=["words"], read=ReadOptions())
    assert result_hashes(tmp_path / "out") == result_hashes(tmp_path / "together")
    run([str(folder)], tmp_path / "again", tokenizers=["words"], read=ReadOptions(), incremental=tmp_path / "out")
    assert result_hashes(tmp_path / "again") == result_hashes(tmp_path / "together")


def test_the_closing_words(corpus, reference):
    lines = list(run([corpus[0]], reference, resume=True).lines())
    assert lines[0] == f"This run is finished already: {reference}"
    assert lines[1].startswith("  documents   240 (")
    assert lines[1].endswith("), 27 of them empty; bad records: 2, listed in bad_records/")
    assert lines[4:6] == ["  groups      9, a row each in summary.parquet", ""]
    assert [line.split()[0] for line in lines[6:]] == ["tokenizer", "words", "chars", "bytes"]
