"""What is written down about the input: sizes and hashes, or an error if a file is no longer what was planned."""

import hashlib
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from pipelines.input_hashes import InputHashes
from pipelines.inputs import ReadOptions, plan_input
from tests.pipelines.object_store import in_store
from tokenize_lib.errors import InputError


def test_local_files_have_their_sha256_in_the_order_of_the_plan(tmp_path: Path) -> None:
    contents = {"b.txt": b"x" * 3_000_000, "a.txt": b"text\n"}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    with InputHashes(plan_input([str(tmp_path)], ReadOptions()).files) as hashes:
        assert hashes.result() == [
            {
                "path": str(tmp_path / name),
                "bytes": len(contents[name]),
                "sha256": hashlib.sha256(contents[name]).hexdigest(),
            }
            for name in ("a.txt", "b.txt")
        ]


def test_a_file_that_changed_since_it_was_planned_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"text\n")
    files = plan_input([str(tmp_path)], ReadOptions()).files
    (tmp_path / "a.txt").write_bytes(b"other text\n")
    with InputHashes(files) as hashes, pytest.raises(InputError, match=r"a.txt: changed since the run began"):
        hashes.result()


def test_a_stopped_run_does_not_wait_for_hashes(tmp_path: Path) -> None:
    with (tmp_path / "a.txt").open("wb") as file:
        file.truncate(8 << 30)  # a hole: no bytes on the disk
    with InputHashes(plan_input([str(tmp_path)], ReadOptions()).files) as hashes:
        pass
    with pytest.raises(CancelledError):
        hashes.result()


def test_remote_files_have_the_checksum_of_their_store(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"text\n")
    with InputHashes(plan_input([in_store(tmp_path)], ReadOptions()).files) as hashes:
        assert hashes.result() == [{"path": in_store(tmp_path / "a.txt"), "bytes": 5, "etag": "etag-5"}]


def test_hashes_begun_ahead_of_the_plan_are_those_of_its_files(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "out/c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    output = str(tmp_path / "out")
    ahead = InputHashes.ahead([str(tmp_path)], output)
    assert ahead is not None
    files = plan_input([str(tmp_path)], ReadOptions(), output=output).files
    with ahead:
        assert [file["path"] for file in ahead.result()] == [str(tmp_path / name) for name in ("a.txt", "b.txt")]
        assert ahead.goes_for(files)
        assert not ahead.goes_for(files[:1])
        (tmp_path / "b.txt").write_bytes(b"other")
        assert not ahead.goes_for(plan_input([str(tmp_path)], ReadOptions(), output=output).files)


def test_what_cannot_be_listed_yet_is_not_hashed_ahead(tmp_path: Path) -> None:
    assert InputHashes.ahead([str(tmp_path / "absent")], str(tmp_path)) is None
    assert InputHashes.ahead([in_store(tmp_path)], str(tmp_path)) is None
