"""Input, output and all between in S3, as a server of this machine keeps it: the bytes that local runs leave."""

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pyarrow.parquet as pq
import pytest

from tests.engines.commands import SAMPLE, Command, hashes, run_command

BUCKET = "corpus"
STARTING_SECONDS = 60.0
ALONE = pytest.mark.parametrize("beam_args", ["multi_threading"], indirect=True)
TRAIN = ("train", "--vocab-size", "1000")
COUNT = ("count", "--tokenizer", "o200k_base", "--group-by", "language", "--on-bad-record", "skip")


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with (tmp_path_factory.mktemp("s3") / "server.log").open("wb") as log:
        server = subprocess.Popen([sys.executable, "-m", "moto.server", "-p", str(port)], stdout=log, stderr=log)
    try:
        _wait_for(url)
        yield url
    finally:
        server.kill()
        server.wait()


def _wait_for(url: str) -> None:
    end = time.monotonic() + STARTING_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(urllib.error.URLError), urllib.request.urlopen(url):  # noqa: S310 - of this machine
            return
        time.sleep(0.1)
    raise AssertionError(f"no server of S3 at {url} in {STARTING_SECONDS} s")


@pytest.fixture(scope="module", autouse=True)
def credentials() -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY="secret")
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="module")
def s3(endpoint: str, credentials: None) -> Any:
    del credentials
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")
    client.create_bucket(Bucket=BUCKET)
    for path in SAMPLE:
        client.upload_file(path, BUCKET, f"in/{Path(path).name}")
    return client


@pytest.fixture(params=["multi_threading", "multi_processing"])
def beam_args(request: pytest.FixtureRequest, endpoint: str) -> tuple[str, ...]:
    """Where S3 is, for the driver and for workers."""
    return (
        f"--s3_endpoint_url={endpoint}",
        "--s3_region_name=us-east-1",
        f"--direct_running_mode={request.param}",
        "--direct_num_workers=2",
    )


def _keys(s3: Any, prefix: str) -> list[str]:
    return [item["Key"] for item in s3.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])]


def _downloaded(s3: Any, prefix: str, directory: Path) -> Path:
    for key in _keys(s3, f"{prefix}/"):
        target = directory / key.removeprefix(f"{prefix}/")
        target.parent.mkdir(parents=True, exist_ok=True)
        s3.download_file(BUCKET, key, str(target))
    return directory


def test_training(s3: Any, beam_args: tuple[str, ...], tmp_path: Path) -> None:
    local = run_command([*TRAIN, *SAMPLE, "-o", str(tmp_path / "local")], log=tmp_path / "log")
    assert local.returncode == 0, local.stdout
    output = f"trained-{tmp_path.name}"
    remote = run_command(
        [*TRAIN, f"s3://{BUCKET}/in", "-o", f"s3://{BUCKET}/{output}", "--", *beam_args], log=tmp_path / "log"
    )
    assert remote.returncode == 0, remote.stdout
    assert hashes(_downloaded(s3, output, tmp_path / "there")) == hashes(tmp_path / "local")


@ALONE
def test_training_that_was_killed_goes_on(s3: Any, beam_args: tuple[str, ...], tmp_path: Path) -> None:
    local = run_command([*TRAIN, *SAMPLE, "-o", str(tmp_path / "local")], log=tmp_path / "log")
    assert local.returncode == 0, local.stdout
    output = f"resumed-{tmp_path.name}"
    arguments = [*TRAIN, f"s3://{BUCKET}/in", "-o", f"s3://{BUCKET}/{output}"]
    with Command([*arguments, "--", *beam_args], log=tmp_path / "log") as command:
        while not _keys(s3, f"{output}/.work/counted.json"):
            assert command.process.poll() is None, command.said()
            time.sleep(0.05)
    assert f"{output}/run.json" not in _keys(s3, output)
    resumed = run_command([*arguments, "--resume", "--", *beam_args], log=tmp_path / "log")
    assert resumed.returncode == 0, resumed.stdout
    assert not _keys(s3, f"{output}/.work/")
    assert hashes(_downloaded(s3, output, tmp_path / "there")) == hashes(tmp_path / "local")


def test_counting(s3: Any, beam_args: tuple[str, ...], tmp_path: Path) -> None:
    local = run_command([*COUNT, *SAMPLE, "-o", str(tmp_path / "local")], log=tmp_path / "log")
    assert local.returncode == 0, local.stdout
    output = f"counted-{tmp_path.name}"
    arguments = [*COUNT, f"s3://{BUCKET}/in", "-o", f"s3://{BUCKET}/{output}"]
    first = run_command([*arguments, "--", *beam_args], log=tmp_path / "log")
    assert first.returncode == 0, first.stdout
    again = run_command(
        [*arguments[:-1], f"s3://{BUCKET}/{output}-again", "--incremental", arguments[-1], "--", *beam_args],
        log=tmp_path / "log",
    )
    assert again.returncode == 0, again.stdout
    assert f"Taken from s3://{BUCKET}/{output}: {len(SAMPLE)} of {len(SAMPLE)} files" in again.stdout
    expected = pq.read_table(tmp_path / "local" / "summary.parquet")
    for name in (output, f"{output}-again"):
        there = _downloaded(s3, name, tmp_path / name)
        assert pq.read_table(there / "summary.parquet") == expected
        assert pq.read_table(there / "documents").drop(["source"]) == pq.read_table(
            tmp_path / "local" / "documents"
        ).drop(["source"])


@ALONE
def test_what_is_said_of_a_bucket_that_is_not_there(beam_args: tuple[str, ...], s3: Any, tmp_path: Path) -> None:
    del s3
    for arguments in (
        [*TRAIN, f"s3://{BUCKET}/in", "-o", "s3://no-such-bucket/out"],
        [*TRAIN, "s3://no-such-bucket/in", "-o", f"s3://{BUCKET}/none"],
    ):
        ended = run_command([*arguments, "--", *beam_args], log=tmp_path / "log")
        assert ended.returncode == 1
        last = ended.stdout.strip().splitlines()[-1]
        assert last.startswith("Error: s3://no-such-bucket"), last
