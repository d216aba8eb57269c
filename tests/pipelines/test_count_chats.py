"""Chats: each record a document, counted by its model's rule; what is none is set aside."""

import json

import pyarrow.parquet as pq
import pytest

from pipelines import token_counts
from pipelines.count_options import CountOptions
from pipelines.inputs import ReadOptions
from tests.oracles.chat import chat_tokens
from tests.pipelines.test_count import result_hashes, rows_of, run
from tokenize_lib.errors import InputError, OptionError

MESSAGES = [
    [{"role": "user", "content": "How are you?"}],
    [{"role": "system", "content": "You are helpful."}, {"role": "user", "name": "anna", "content": "ភាសាខ្មែរ"}],
    [{"role": "user", "content": ""}],
]


def write(path, *, extra=()):
    lines = []
    for number in range(30):
        messages = MESSAGES[number % 3]
        if number % 2:
            record = {"messages": messages, "lang": None if number % 5 == 0 else f"l{number % 2}", "n": number}
        else:
            record = {
                "custom_id": f"request-{number}",
                "lang": "km",
                "body": {"model": "gpt-4o-mini", "messages": messages},
            }
        lines.append(json.dumps(record, ensure_ascii=bool(number % 3)).encode())
        if number == 10:
            lines += extra
    path.write_bytes(b"\n".join(lines) + b"\n")
    return lines


def chats(path, out, *, tokenizers=("o200k_base", "words"), **more):
    read = ReadOptions(format="chat", on_bad_record="skip", **more)
    return run([str(path)], out, tokenizers=tokenizers, read=read)


BAD = [
    b"",
    b'{"messages": "none"}',
    b"no JSON",
    b"\xff",
    b'{"messages": [{"role": "user", "content": "\\ud800"}]}',
    b"  ",
]


def test_each_chat_is_a_document(tmp_path, monkeypatch):
    lines = write(tmp_path / "chats.jsonl", extra=BAD)
    chats(tmp_path / "chats.jsonl", tmp_path / "out", group_by=("lang", "n"))
    rows = rows_of(tmp_path / "out")
    assert len(rows) == 30
    position = number = 0
    for line in lines:
        if line in BAD:
            position += len(line) + 1
            continue
        row, messages = rows[number], MESSAGES[number % 3]
        contents = [message["content"] for message in messages]
        assert (row["position"], row["messages"], row["images"]) == (position, len(messages), 0)
        assert row["bytes"] == sum(len(content.encode()) for content in contents)
        assert row["tokens_words"] == sum(len(text.split()) for m in messages for text in m.values())
        assert row["tokens_o200k_base"] == chat_tokens(messages, "o200k_base")
        assert (row["estimate_o200k_base"], row["estimate_words"]) == (False, False)
        if number % 2:
            lang = None if number % 5 == 0 else "l1"
            assert (row["model"], row["id"], row["lang"], row["n"]) == (None, None, lang, str(number))
        else:
            assert (row["model"], row["id"], row["lang"], row["n"]) == ("gpt-4o-mini", f"request-{number}", "km", None)
        position += len(line) + 1
        number += 1
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    found = {name: record["records"][name] for name in ("read", "kept", "empty", "bad")}
    assert found == {"read": 34, "kept": 20, "empty": 10, "bad": 4}
    bad = pq.read_table(tmp_path / "out" / "bad_records" / "part-00000.parquet").to_pylist()
    assert [row["row"] for row in bad] == [13, 14, 15, 16]
    assert bad[2]["reason"].startswith("invalid UTF-8")

    read_splits = token_counts.read_splits
    monkeypatch.setattr(token_counts, "read_splits", lambda *args, **more: read_splits(*args, block_bytes=100, **more))
    chats(tmp_path / "chats.jsonl", tmp_path / "small", group_by=("lang", "n"))
    assert result_hashes(tmp_path / "small") == result_hashes(tmp_path / "out")


def test_incremental(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    write(folder / "a.jsonl", extra=BAD)
    read = ReadOptions(format="chat", on_bad_record="skip", group_by=("lang",), id_field="n")
    run([str(folder)], tmp_path / "earlier", tokenizers=["words"], read=read)
    write(folder / "b.jsonl")
    run([str(folder)], tmp_path / "full", tokenizers=["words"], read=read)
    run([str(folder)], tmp_path / "out", tokenizers=["words"], read=read, incremental=tmp_path / "earlier")
    assert result_hashes(tmp_path / "out") == result_hashes(tmp_path / "full")
    found, full = (json.loads((tmp_path / name / "run.json").read_text()) for name in ("out", "full"))
    assert found["records"] == full["records"]


def test_a_bad_chat_stops_a_run(tmp_path):
    write(tmp_path / "chats.jsonl", extra=[b'{"messages": "none"}'])
    with pytest.raises(InputError, match=r"chats\.jsonl: row 12 \(at byte \d+\): "):
        run([str(tmp_path / "chats.jsonl")], tmp_path / "out", read=ReadOptions(format="chat"))


def test_a_fine_tuned_model_holds_for_all_chats(tmp_path):
    write(tmp_path / "chats.jsonl")
    chats(tmp_path / "chats.jsonl", tmp_path / "out", tokenizers=["gpt-3.5-turbo-0301"])
    old = [chat_tokens(MESSAGES[n % 3], "cl100k_base", per_message=4, per_name=-1) for n in range(30)]
    assert [row["tokens_cl100k_base"] for row in rows_of(tmp_path / "out")] == old


def test_models_of_two_rules_in_one_column():
    options = CountOptions.load(["gpt-4", "gpt-3.5-turbo-0301"])
    assert options.columns == ("cl100k_base",)
    with pytest.raises(OptionError, match=r"gpt-4 and gpt-3\.5-turbo-0301 share a tokenizer and count chats diff"):
        options.chat_reader(ReadOptions(format="chat"))
    assert options.chat_reader(ReadOptions()) is None
