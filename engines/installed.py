"""Where ``engines/prepare`` has put what."""

import dataclasses
import hashlib
import os
from importlib.metadata import version
from pathlib import Path

from engines.processes import EngineError

_HERE = Path(__file__).parent


@dataclasses.dataclass(frozen=True)
class Installed:
    """Files of the engines.

    Attributes:
        job_server: Beam's Flink job server, a jar with an embedded Flink.
        flink_lib: The jars of Flink's own distribution.
        prism: Beam's Prism runner.
    """

    job_server: Path
    flink_lib: Path
    prism: Path

    @classmethod
    def find(cls) -> "Installed":
        """Look in the cache folder that ``ENGINES_CACHE`` names, by default ``.engines`` beside this package.

        Raises:
            EngineError: Something is not there.
        """
        cache = Path(os.environ.get("ENGINES_CACHE") or _HERE.parent / ".engines")
        pom = hashlib.sha256((_HERE / "flink" / "pom.xml").read_bytes()).hexdigest()[:12]
        flink = (_HERE / "flink" / "distribution-version").read_text(encoding="utf-8").strip()
        found = cls(
            job_server=Path(os.environ.get("FLINK_JOB_SERVER") or cache / f"flink-job-server-{pom}.jar"),
            flink_lib=cache / f"flink-{flink}" / "pyflink" / "lib",
            prism=cache / f"prism-{version('apache-beam')}",
        )
        for path in (found.job_server, found.flink_lib, found.prism):
            if not path.exists():
                raise EngineError(f"{path} is not there: run make engines, or engines/prepare PYTHON {cache}")
        return found
