"""What docs/scheduled-runs.md tells to write does what the page says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "scheduled-runs.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    return re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[1]


def test_the_script_counts_on_top_of_the_last_run(tmp_path):
    folder = tmp_path / "tokens"
    (folder / "counts").mkdir(parents=True)
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (folder / "count.toml").write_text(block("toml").replace("/srv/corpus", str(corpus)).replace("o200k_base", "words"))
    script = folder / "count-corpus"
    command = f"{sys.executable} -m pipelines.cli.main"
    script.write_text(block("sh").replace("/srv/tokens", str(folder)).replace("exec tokenbeam", f"exec {command}"))
    script.chmod(0o755)

    def count(day: str) -> subprocess.CompletedProcess:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run([script, day], env=environment, capture_output=True, text=True, check=False)

    (corpus / "a.jsonl").write_text('{"id": "1", "language": "en", "text": "one two"}\n')
    first = count("2026-11-29")
    assert (first.returncode, "Taken from" in first.stderr) == (0, False)
    (corpus / "b.jsonl").write_text('{"id": "2", "language": "km", "text": "three"}\n')
    second = count("2026-11-30")
    assert second.returncode == 0
    assert "Taken from 2026-11-29: 1 of 2 files, " in second.stderr
    record = json.loads((folder / "counts" / "2026-11-30" / "run.json").read_text())
    assert record["records"]["kept"] == 2
    assert record["options"]["context_limits"] == [8192, 128000]
    again = count("2026-11-30")
    assert (again.returncode, again.stderr.splitlines()[0]) == (0, "This run is finished already: 2026-11-30")
