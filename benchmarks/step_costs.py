"""``python -m benchmarks.step_costs INPUT...``: what each step of a training and of a count takes, as JSON lines.

The figures in ``pipelines/work_figures.py`` come from here. Each input is trained on and counted by itself, in this
process; a step's CPU seconds are those of the process while it runs.
"""

import argparse
import contextlib
import json
import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pipelines.cli.sizes import parse_size
from pipelines.count import count
from pipelines.count_options import CountOptions
from pipelines.inputs import ReadOptions
from pipelines.progress import Progress, Talk
from pipelines.run_mode import RunMode
from pipelines.runner import RuntimeOptions
from pipelines.train import train
from tokenize_lib.training_options import PretokenizeOptions, TrainOptions


class _Meter(Talk):
    """Notes the CPU seconds of each step, and the bytes that lie in the run's work files when it ends."""

    def __init__(self, output: Path) -> None:
        super().__init__(quiet=True)
        self._work = output / ".work"
        self.steps: list[dict[str, Any]] = []

    @contextlib.contextmanager
    def step(self, label: str, **settings: Any) -> Iterator[Progress]:
        before = _cpu()
        with super().step(label, **settings) as progress:
            yield progress
        files = [path for path in self._work.rglob("*.arrow") if path.is_file()]
        self.steps.append(
            {
                "step": label,
                "cpu": round(_cpu() - before, 3),
                "wall": round(progress.seconds, 3),
                "work_bytes": sum(path.stat().st_size for path in files),
                "partial_rows": sum(map(_rows, files)) if label == "Counting pretokens" else 0,
            }
        )


def _rows(path: Path) -> int:
    import pyarrow as pa  # noqa: PLC0415

    with pa.memory_map(str(path)) as source:
        reader = pa.ipc.open_file(source)
        return sum(reader.get_batch(place).num_rows for place in range(reader.num_record_batches))


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _measured_training(inputs: list[str], asked: argparse.Namespace, runtime: RuntimeOptions) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run"
        meter = _Meter(output)
        options = TrainOptions(
            vocab_size=asked.vocab_size, pretokenize=PretokenizeOptions(pretokenizer=asked.pretokenizer)
        )
        train(
            inputs, str(output), options=options, read=ReadOptions(), runtime=runtime, mode=RunMode(), partitions=16,
            talk=meter,
        )  # fmt: skip
        record = json.loads((output / "run.json").read_text())
        rounds = pq.read_table(output / "rounds.parquet").to_pylist()
        table = sum(path.stat().st_size for path in (output / "pretokens").iterdir())
    steps = meter.steps
    for row, step in zip(rounds, [step for step in steps if step["step"].endswith("segments")], strict=True):
        step.update(
            {
                name: row[name]
                for name in ("bytes_shuffled", "segments", "segment_symbols", "live_pairs", "merges", "threshold")
            }
        )
    return {"command": "train", "steps": steps, "table_bytes": table, **record["results"]}


def _measured_count(inputs: list[str], tokenizer: str, runtime: RuntimeOptions) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run"
        meter = _Meter(output)
        count(
            inputs, str(output), options=CountOptions.load([tokenizer]), read=ReadOptions(), runtime=runtime,
            mode=RunMode(), talk=meter,
        )  # fmt: skip
        record = json.loads((output / "run.json").read_text())
        rows = sum(path.stat().st_size for path in (output / "documents").iterdir())
    found = {"command": "count", "tokenizer": tokenizer, "steps": meter.steps, "table_bytes": rows}
    return {**found, "documents": record["records"]["read"], **record["results"]}


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("inputs", nargs="+", help="files of one corpus")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", type=parse_size, default=4 << 30)
    parser.add_argument("--vocab-size", type=int, default=32_000)
    parser.add_argument("--pretokenizer", default="o200k")
    parser.add_argument("--tokenizer", action="append", default=[], help="count with it; without one, train")
    asked = parser.parse_args()
    runtime = RuntimeOptions(memory=asked.memory, workers=asked.workers)
    setting = {
        "stored_bytes": sum(Path(path).stat().st_size for path in asked.inputs),
        "workers": asked.workers, "memory": asked.memory,
    }  # fmt: skip
    found = [_measured_count(asked.inputs, tokenizer, runtime) for tokenizer in asked.tokenizer]
    for each in found or [_measured_training(asked.inputs, asked, runtime)]:
        print(json.dumps({**setting, **each, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


if __name__ == "__main__":
    main()
