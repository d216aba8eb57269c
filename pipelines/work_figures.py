"""What was measured of the steps of a run, as data: `pipelines.work_plan` predicts from it.

Made by ``python -m benchmarks.step_costs``. A figure is as good as its corpora: `MIX`, eight shards of JSON Lines in
English, code and six other languages, 1/8 to the whole of it, and `LINUX`, the C and rst files of Linux 6.1, a line a
document, a quarter and the whole.
"""

import dataclasses

MACHINE = "AMD EPYC, 2 cores, 24 GiB, Python 3.11.7"
DATE = "2026-11-30"


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainPoint:
    """One measured training: ``--vocab-size 32000 --pretokenizer o200k --workers 2 --memory 4GiB``, one round.

    Attributes:
        stored_bytes: Of the files, as they are stored.
        text_bytes: UTF-8 bytes of all documents.
        distinct: Distinct pretokens.
        symbols: Bytes of the distinct pretokens, which are the symbols of the first round.
        partial_rows: Rows of the tables that both workers wrote in counting.
        partial_bytes: Bytes of these tables.
        table_bytes: Bytes of ``pretokens/``.
        count_cpu: CPU seconds of reading, counting and merging pretokens.
        round_cpu: CPU seconds of the round's workers.
        round_bytes: Bytes shuffled in the round.
        merge_cpu: CPU seconds of the driver's merging.
        peak: Peak memory of the process in bytes, workers included.
    """

    stored_bytes: int
    text_bytes: int
    distinct: int
    symbols: int
    partial_rows: int
    partial_bytes: int
    table_bytes: int
    count_cpu: float
    round_cpu: float
    round_bytes: int
    merge_cpu: float
    peak: int


MIX = (
    TrainPoint(
        stored_bytes=3_157_216, text_bytes=12_394_438, distinct=107_485, symbols=1_071_956, partial_rows=107_485,
        partial_bytes=1_529_850, table_bytes=885_581, count_cpu=0.341, round_cpu=0.307, round_bytes=2_057_224,
        merge_cpu=0.112, peak=318_984_192,
    ),
    TrainPoint(
        stored_bytes=6_509_768, text_bytes=25_060_531, distinct=163_882, symbols=1_817_319, partial_rows=163_882,
        partial_bytes=2_419_282, table_bytes=1_390_902, count_cpu=0.579, round_cpu=0.481, round_bytes=3_280_376,
        merge_cpu=0.256, peak=334_475_264,
    ),
    TrainPoint(
        stored_bytes=12_940_947, text_bytes=50_017_824, distinct=256_116, symbols=3_224_208, partial_rows=333_947,
        partial_bytes=4_971_916, table_bytes=2_387_278, count_cpu=0.895, round_cpu=0.424, round_bytes=5_362_920,
        merge_cpu=0.334, peak=423_129_088,
    ),
    TrainPoint(
        stored_bytes=26_097_930, text_bytes=100_382_544, distinct=387_355, symbols=5_194_677, partial_rows=504_659,
        partial_bytes=7_633_316, table_bytes=3_575_265, count_cpu=1.649, round_cpu=0.555, round_bytes=8_320_568,
        merge_cpu=0.591, peak=496_721_920,
    ),
)  # fmt: skip

LINUX = (
    TrainPoint(
        stored_bytes=299_999_963, text_bytes=293_776_371, distinct=367_093, symbols=3_600_866, partial_rows=444_266,
        partial_bytes=6_315_388, table_bytes=3_024_023, count_cpu=4.499, round_cpu=0.555, round_bytes=7_054_160,
        merge_cpu=0.423, peak=496_177_152,
    ),
    TrainPoint(
        stored_bytes=1_197_348_161, text_bytes=1_169_230_597, distinct=823_917, symbols=6_918_520,
        partial_rows=1_051_661, partial_bytes=14_293_540, table_bytes=5_845_026, count_cpu=17.701, round_cpu=0.684,
        round_bytes=14_227_688, merge_cpu=0.920, peak=492_355_584,
    ),
)  # fmt: skip

SAMPLE_RUNS_LOW = ((4 << 20, 0.33), (16 << 20, 0.20), (64 << 20, 0.03))
"""Bytes of a sample of `MIX`, and the share of its distinct pretokens by which the growth fitted to it falls short."""

TEXT_A_STORED_BYTE = {
    "text": 0.98, "jsonl": 0.97, "parquet": 1.94, "text.gz": 3.1, "jsonl.gz": 3.07, "text.zst": 3.9, "jsonl.zst": 3.85,
    "parquet.gz": 1.94, "parquet.zst": 1.94,
}  # fmt: skip
"""UTF-8 bytes of text in a stored byte, by format: `MIX` as it is, in gzip -6, and in Parquet with snappy."""

MERGE_SECONDS_A_ROW = 0.22e-6
"""CPU seconds a row of the partial tables that are merged and written: the table of `MIX` with itself."""

COUNTER_BYTES_A_ROW = 83
"""Memory that a distinct pretoken takes in a worker that counts: 1/8 of `MIX`."""

PROGRAM_BYTES = 256 << 20
"""Memory of the interpreter, Beam, Arrow and the blocks being read, as `pipelines.memory` has it."""

JOB_SECONDS = 0.3
"""What starting a pipeline takes in this process; engines take seconds, services minutes."""

LIVE_PAIRS = 10_000
"""Pairs live in a round of 32,000 entries: 9,080 in `MIX`, 9,639 in `LINUX`."""

BATCH_BYTES = 2 << 20
"""What a merger holds of each table: two batches, as `pipelines.partial_tables` writes them."""

OVER_BUDGET = 1.25
"""How far over the driver's share the segments of a round may be before they are cut again, as `pipelines.rounds`."""

SLOWDOWN = 1.05
"""How much longer two workers took than half the CPU seconds: 1.9 times one, not 2."""

ENCODED_BYTES_A_SYMBOL = 1.0
"""Bytes on disk, at the most, of the encoded table between two rounds, for a byte of its pretokens: `MIX`, 3 rounds."""

ROUNDS = ((1.0, 1), (2.46, 3), (9.0, 5), (136.0, 17))
"""Rounds of `MIX` and 32,000 entries, by how often the driver's share goes into what one round would take there."""

LATER_ROUNDS = 1.5
"""How much more each of several rounds takes its workers than a single one: `MIX` in 3 rounds and in 5."""

ROUNDS_VOCAB_SIZE = 32_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class CountFigure:
    """What counting tokens takes.

    Attributes:
        seconds_a_byte: CPU seconds a byte of text.
        output_a_byte: Bytes of ``documents/`` a byte of text.
        memory: Bytes that a worker holds for it.
        measured_text: The most text that it was measured on, in bytes.
        source: Where, in words.
    """

    seconds_a_byte: float
    output_a_byte: float
    memory: int
    measured_text: int
    source: str


READING = CountFigure(
    seconds_a_byte=4.0e-9, output_a_byte=0.0041, memory=64 << 20, measured_text=959_424_733,
    source="1 GB of plain JSON Lines, 2,200 bytes a document; decompressing zstd is 1 more",
)  # fmt: skip
COUNTING = {
    "kernel": CountFigure(
        seconds_a_byte=6.2e-9, output_a_byte=0.0004, memory=64 << 20, measured_text=959_424_733,
        source="o200k_base on text that is new to it; 4.3 where it repeats",
    ),
    "units": CountFigure(
        seconds_a_byte=0.2e-9, output_a_byte=0.0004, memory=0, measured_text=959_424_733,
        source="bytes; nearly all is reading",
    ),
    "hugging-face": CountFigure(
        seconds_a_byte=333e-9, output_a_byte=0.0004, memory=128 << 20, measured_text=100_382_544,
        source="Hugging Face tokenizers with o200k_base, 100 MB",
    ),
    "sentencepiece": CountFigure(
        seconds_a_byte=333e-9, output_a_byte=0.0004, memory=64 << 20, measured_text=0,
        source="not measured: taken to be as Hugging Face tokenizers",
    ),
}  # fmt: skip
"""By the backend that runs a tokenizer: in addition to reading."""
