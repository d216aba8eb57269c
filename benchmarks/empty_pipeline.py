"""What a run of tokenbeam costs before it does anything: its imports and a pipeline of one element."""

import os

import apache_beam as beam

from pipelines.runner import RuntimeOptions, run_pipeline


def _build(pipeline: beam.Pipeline) -> None:
    pipeline | beam.Create([0])


if __name__ == "__main__":
    run_pipeline(_build, RuntimeOptions(memory=1 << 30, workers=os.cpu_count() or 1), "nothing")
