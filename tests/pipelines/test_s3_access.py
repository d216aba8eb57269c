"""S3 that cannot be used: one line, and soon. Skipped where boto3 is not installed; no network is needed."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("boto3", reason="S3 needs the extra aws")


@pytest.fixture
def closed() -> Iterator[str]:
    """A URL of this machine where nothing listens: the port is taken, though not listened on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def ended(arguments: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return subprocess.run(
        [sys.executable, "-m", "pipelines.cli.main", "count", *arguments],
        env={**kept, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,  # Beam alone would try for eight minutes
    )


@pytest.mark.parametrize("place", ["input", "output", "tokenizer"])
def test_without_credentials_it_says_where_to_give_them(tmp_path: Path, closed: str, place: str) -> None:
    text = tmp_path / "a.txt"
    text.write_text("a line\n")
    paths = {"input": str(text), "output": str(tmp_path / "out"), "tokenizer": "words", place: "s3://bucket/x"}
    done = ended(
        [paths["input"], "-o", paths["output"], "--tokenizer", paths["tokenizer"]],
        AWS_EC2_METADATA_SERVICE_ENDPOINT=closed,
        HOME=str(tmp_path),
    )
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("Error: s3://bucket/x: no credentials for S3 ")
    assert "AWS_ACCESS_KEY_ID" in line


def test_an_endpoint_that_does_not_answer_is_named(tmp_path: Path, closed: str) -> None:
    done = ended(
        ["s3://bucket/x", "-o", str(tmp_path / "out"), "--tokenizer", "words", "--", f"--s3_endpoint_url={closed}"],
        AWS_ACCESS_KEY_ID="key",
        AWS_SECRET_ACCESS_KEY="secret",
        AWS_DEFAULT_REGION="us-east-1",
    )
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith(f"Error: s3://bucket/x: S3 does not answer: the endpoint {closed} ")
