import gzip

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.cli.main import run

WANTED = """\
Would read 4 files, {size}
  jsonl.gz              1 file, {gz} B, 1 split
  parquet               1 file, {parquet} B, 1 split
  text                  2 files, 16 B, 2 splits
Would run
  output                {out}
  workers               3
  memory                1.0 GB
  partitions            16
  rounds-per-job        1
  beam                  --direct_running_mode in_memory
Options
  model                 bpe
  vocab-size            300
  alphabet              bytes
  unk-token             -
  character-coverage    1.0
  end-of-word           -
  end-of-word-mark      -
  continuing-prefix     -
  max-token-length      -
  min-frequency         2
  tie-break             ids
  pretokenizer          gpt2
  normalize             none
  lowercase             False
  special-tokens        <s> </s>
  format                auto
  text-field            text
  document              line
  on-bad-record         fail
  null                  bad
  id-field              -
  group-by              -
  max-document-bytes    268435456
"""


def test_the_plan_without_reading(tmp_path, capsys):
    corpus, out = tmp_path / "corpus", tmp_path / "out"
    corpus.mkdir()
    (corpus / "a.txt").write_text("hello\n")
    (corpus / "b.txt").write_bytes(b"\xff not text")  # nothing is read, so nothing is found
    gz = gzip.compress(b'{"text": "hello"}\n')
    (corpus / "c.jsonl.gz").write_bytes(gz)
    pq.write_table(pa.table({"text": ["hello"]}), corpus / "d.parquet")
    parquet = (corpus / "d.parquet").stat().st_size
    options = ["--vocab-size", "300", "--pretokenizer", "gpt2", "--special-token", "<s>", "--special-token", "</s>"]
    running = ["--workers", "3", "--memory", "1G", "--", "--direct_running_mode", "in_memory"]
    assert run(["train", str(corpus), "-o", str(out), "--dry-run", *options, *running]) == 0
    found, err = capsys.readouterr()
    size = f"{16 + len(gz) + parquet} B"
    assert found == WANTED.format(size=size, gz=len(gz), parquet=parquet, out=out)
    assert err == ""
    assert not out.exists()
