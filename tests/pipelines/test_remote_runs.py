"""Whole commands with input, output and all between in an object store: the bytes of a local run, and no local file."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from tests.pipelines import bucket

REPOSITORY = Path(__file__).parents[2]
STORE = f"{bucket.SCHEME}://name/work"
MODES = ["in_memory", "multi_threading", "multi_processing"]
TRAIN = ["train", "--vocab-size", "400", "--partitions", "3"]
MANY_ROUNDS = ["--memory", "8kB"]
COUNT = ["count", "--tokenizer", "o200k_base", "--tokenizer", "words", "--group-by", "language", "--id-field", "id"]
COUNT += ["--on-bad-record", "skip"]
SKIP = ["--on-bad-record", "skip"]


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A local directory with corpora, and what the commands make of them."""
    tmp_path = tmp_path_factory.mktemp("local")
    directory = tmp_path / "here"
    write_corpora(directory)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(bucket.ROOT, str(tmp_path))
        run(runs_of(directory), "in_memory", tmp_path, refusing=False)
    return directory


@pytest.fixture(autouse=True)
def _store(here, tmp_path, monkeypatch):
    """A bucket with the same corpora."""
    root = tmp_path / "hidden" / "bucket"
    root.mkdir(parents=True)
    monkeypatch.setenv(bucket.ROOT, str(root))
    for corpus in ("corpus", "chats"):
        bucket.upload(here / corpus, f"{STORE}/{corpus}")


def write_corpora(directory):
    corpus = directory / "corpus"
    corpus.mkdir(parents=True)
    words = ["the", "lower", "the", "wider,", "a", "newest", "low", "wide;", "ភាសាខ្មែរ", "និង", "Tiếng", "Việt"]
    lines = [
        " ".join(words[number % len(words) :] + words[: number % 7] + [f"{number * 7919 % 1009:b}"])
        for number in range(200)
    ]
    (corpus / "a.txt").write_text("\n".join(lines), encoding="utf-8")
    (corpus / "b.txt.gz").write_bytes(gzip.compress("\n".join(lines[:50]).encode(), mtime=0))
    rows = [{"text": line, "language": "ab"[number % 2], "id": number} for number, line in enumerate(lines)]
    records = "\n".join(map(json.dumps, rows)) + "\nno JSON\n"
    (corpus / "c.jsonl").write_text(records)
    (corpus / "d.jsonl.zst").write_bytes(zstandard.compress(records.encode()))
    pq.write_table(pa.Table.from_pylist(rows), corpus / "e.parquet", row_group_size=40)
    chats = [{"messages": [{"role": "user", "content": line}], "custom_id": str(at)} for at, line in enumerate(lines)]
    (directory / "chats").mkdir()
    (directory / "chats" / "a.jsonl").write_text("\n".join(map(json.dumps, chats)))


def run(commands, mode, tmp_path, *, refusing, driver_file=""):
    environment = {**os.environ, bucket.OPENED_BY_DRIVER: str(driver_file), "TMPDIR": str(tmp_path / "temporary")}
    (tmp_path / "temporary").mkdir(exist_ok=True)
    refusals = tmp_path / "refusals"
    if refusing:
        environment[bucket.REFUSALS] = str(refusals)
    commands = [
        {**command, "arguments": [*command["arguments"], "--", f"--direct_running_mode={mode}", *WORKERS]}
        if command["arguments"][0] != "cost"
        else command
        for command in commands
    ]
    program = "from tests.pipelines import bucket; bucket.main()"
    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps(commands)],
        cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert refusals.exists() == refusing
    assert not refusing or refusals.read_text() == ""
    assert done.returncode == 0, done.stderr
    return done.stderr


WORKERS = ("--direct_num_workers=2", "--beam_plugins=tests.pipelines.bucket")


def names(directory):
    return [str(path.relative_to(directory)) for path in sorted(Path(directory).rglob("*")) if path.is_file()]


def contents(directory):
    """Bytes of outputs by name: of all that hold neither times nor paths."""
    return {
        name: Path(directory, name).read_bytes()
        for name in names(directory)
        if name not in ("run.json", "rounds.parquet") and not name.startswith(("bad_records/", "documents/"))
    }


def rows(directory, folder, local=""):
    """Rows of the tables in a folder, with local sources as the bucket has them."""
    return [
        {**row, "source": row["source"].replace(str(local), STORE, 1) if local else row["source"]}
        for path in sorted(Path(directory, folder).glob("*.parquet"))
        for row in pq.read_table(path).to_pylist()
    ]


def runs_of(root, memory=()):
    """Every command that leaves files, with input and output below a root."""
    corpus, first, again = f"{root}/corpus", f"{root}/counted", f"{root}/counted-again"
    return [
        {"arguments": [*TRAIN, corpus, "-o", f"{root}/trained", *SKIP, *memory]},
        {"arguments": [*TRAIN, corpus, "-o", f"{root}/first-seen", *SKIP, "--tie-break", "first-seen"]},
        {"arguments": [*COUNT, corpus, "-o", first, "--tokenizer", f"{root}/trained"]},
        {"arguments": [*COUNT, corpus, "-o", again, "--tokenizer", f"{root}/trained", "--incremental", first]},
        {
            "arguments": [
                "count",
                f"{root}/chats",
                "-o",
                f"{root}/chats-counted",
                "--model",
                "gpt-4o",
                "--format",
                "chat",
            ]
        },
        {"arguments": ["cost", first, "--model", "gpt-4o", "--output-tokens", "10"]},
    ]


@pytest.mark.parametrize("mode", MODES)
def test_all_commands_give_the_bytes_of_a_local_run(here, tmp_path, mode):
    many = mode == "in_memory"  # other workers take a second to start, for each round
    run(runs_of(STORE, MANY_ROUNDS if many else ()), mode, tmp_path, refusing=True)
    there = tmp_path / "there"
    bucket.download(STORE, there)
    for name in ("trained", "first-seen"):
        assert [row["reason"] for row in rows(there / name, "bad_records")] == [
            "invalid JSON: expected ident at column 2"
        ] * 2
        assert rows(there / name, "bad_records") == rows(here / name, "bad_records", here)
    for name in ("trained", "first-seen", "counted", "counted-again", "chats-counted"):
        assert names(there / name) == names(here / name)
        assert contents(there / name) == contents(here / name)
        assert rows(there / name, "documents") == rows(here / name, "documents", here)
    assert len(list((there / "counted" / "documents").iterdir())) > 5
    assert json.loads((there / "trained" / "run.json").read_text())["results"]["rounds"] > (3 if many else 0)
    etags = [file["etag"] for file in json.loads((there / "counted" / "run.json").read_text())["inputs"]]
    assert etags == [bucket.Bucket(None).checksum(path) for path in bucket.objects(f"{STORE}/corpus/")]


@pytest.mark.parametrize(
    ("command", "failing"),
    [
        (TRAIN + SKIP + MANY_ROUNDS, ".work/rounds/0003"),
        (TRAIN + SKIP, "vocab.parquet"),
        (COUNT, "documents/part-00003"),
        (COUNT, "summary.parquet"),
    ],
)
def test_a_run_that_failed_is_resumed_to_the_same_bytes(tmp_path, command, failing):
    whole = [*command, f"{STORE}/corpus", "-o", f"{STORE}/whole"]
    resumed = [*command, f"{STORE}/corpus", "-o", f"{STORE}/resumed"]
    run(
        [
            {"arguments": whole},
            {"arguments": resumed, "failing": failing, "code": 1},
            {"arguments": resumed, "code": 1},
            {"arguments": [*resumed, "--resume"]},
        ],
        "multi_threading", tmp_path, refusing=True,
    )  # fmt: skip
    there = tmp_path / "there"
    bucket.download(STORE, there)
    assert names(there / "resumed") == names(there / "whole")
    assert contents(there / "resumed") == contents(there / "whole")
    assert rows(there / "resumed", "documents") == rows(there / "whole", "documents")


def test_what_a_failed_run_left_goes_when_it_is_replaced(tmp_path):
    output = f"{STORE}/out"
    run(
        [
            {"arguments": [*COUNT, f"{STORE}/corpus", "-o", output], "failing": "summary.parquet", "code": 1},
            {"arguments": ["count", "--tokenizer", "bytes", f"{STORE}/corpus/b.txt.gz", "-o", output, "--replace"]},
        ],
        "in_memory", tmp_path, refusing=True,
    )  # fmt: skip
    assert [path.removeprefix(f"{output}/") for path in bucket.objects(f"{output}/")] == [
        "documents/part-00000.parquet",
        "run.json",
        "summary.parquet",
    ]


@pytest.mark.parametrize("mode", ["multi_threading", "multi_processing"])
def test_workers_open_no_file_of_a_local_tokenizer(here, tmp_path, mode):
    file = here / "trained" / "tokenizer.json"
    count = ["count", f"{STORE}/corpus/a.txt", "-o", f"{STORE}/out", "--tokenizer", str(file)]
    run([{"arguments": count}], mode, tmp_path, refusing=True, driver_file=file)
    bucket.download(f"{STORE}/out", tmp_path / "out")
    counted = [row for row in rows(here / "counted", "documents") if row["source"].endswith("a.txt")]
    assert [row["tokens_trained"] for row in rows(tmp_path / "out", "documents")] == [
        row["tokens_trained"] for row in counted
    ]


def test_a_local_file_is_refused(here, tmp_path):
    count = {"arguments": ["count", str(here / "corpus"), "-o", f"{STORE}/out", "--tokenizer", "bytes"], "code": 1}
    with pytest.raises(AssertionError, match=r"os\.scandir .*/here/corpus by MainThread"):
        run([count], "in_memory", tmp_path, refusing=True)
