"""Workers that have the wheel and what it needs, and nothing else: ``make worker-venv``."""

import os
import subprocess
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from packaging.utils import parse_wheel_filename

from engines import flink
from engines.installed import Installed
from engines.processes import Process, free_port
from tests.engines.commands import SAMPLE, hashes, run_command
from tests.engines.conftest import Engine

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".engines" / "worker-venv" / "bin" / "python"


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    """Variables of a worker that does not see this checkout, though it is started in it."""
    return {"PATH": f"{PYTHON.parent}{os.pathsep}{os.environ['PATH']}", "PYTHONSAFEPATH": "1", "PYTHONPATH": ""}


@pytest.fixture(scope="module")
def pool_on_flink(
    installed: Installed, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    """Flink within the job server, and workers from a pool of the wheel's environment."""
    directory = tmp_path_factory.mktemp("worker-pool")
    port = free_port()
    command = [str(PYTHON), "-u", "-m", "apache_beam.runners.worker.worker_pool_main", f"--service_port={port}"]
    with (
        Process.start("worker-pool", command, directory=directory, environment=environment) as pool,
        flink.job_server(installed, directory / "flink") as server,
    ):
        pool.wait_for_line("Started worker pool servicer")
        place = ("--environment_type=EXTERNAL", f"--environment_config=localhost:{port}", flink.WORKERS_STAY)
        yield Engine("pool", ("--runner=PortableRunner", f"--job_endpoint={server.endpoint}", *place))


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", *SAMPLE, "--vocab-size", "2000"],
        ["count", *SAMPLE, "--tokenizer", "o200k_base", "--tokenizer", "words"],
    ],
    ids=["train", "count"],
)
def test_workers_with_the_wheel_alone_give_the_same_bytes(
    pool_on_flink: Engine, arguments: list[str], expected: Callable[[Sequence[str]], dict[str, str]], tmp_path: Path
) -> None:
    ended = run_command(
        [*arguments, "-o", str(tmp_path / "out"), "--", *pool_on_flink.beam_args], log=tmp_path / "command.log"
    )
    assert ended.returncode == 0, ended.stdout
    assert hashes(tmp_path / "out") == expected(arguments)


def test_the_environment_takes_the_kernel_from_the_wheel(environment: dict[str, str]) -> None:
    code = "import tokenize_lib._native as kernel; print(kernel.__file__)"
    command = [str(PYTHON), "-c", code]
    found = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    assert Path(found.stdout.strip()).is_relative_to(PYTHON.parents[1])


def test_the_wheel_holds_code_and_data_and_no_sources_of_the_kernel() -> None:
    [wheel] = (ROOT / "dist").glob("tokenbeam-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {"tokenize_lib/_native.abi3.so", "tokenize_lib/py.typed", "tokenize_lib/_native.pyi"} <= names
    for package in ("schemas", "tokenize_lib", "pipelines"):
        sources = [path for path in (ROOT / package).rglob("*.py") if "_kernel" not in path.parts]
        assert {str(path.relative_to(ROOT)) for path in sources} <= names
    data = {f"tokenize_lib/data/{path.name}" for path in (ROOT / "tokenize_lib" / "data").glob("*.arrow")}
    assert data
    assert data <= names
    assert not [name for name in names if name.endswith((".rs", "Cargo.toml", "Cargo.lock")) or "/_kernel/" in name]
    _, _, _, tags = parse_wheel_filename(wheel.name)
    assert {(tag.interpreter, tag.abi) for tag in tags} == {("cp311", "abi3")}
    assert any(tag.platform.startswith("manylinux_2_17") for tag in tags)
