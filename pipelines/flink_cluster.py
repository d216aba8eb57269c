"""A Flink cluster as its own REST interface tells of it: the job server's word is not enough.

Told to cancel a job, Beam's job server for Flink (2.70) says that it is cancelled, while the job goes on to its end on
a cluster of its own. Nor does it say anything of a job before its end.
"""

import json
import time
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from apache_beam.options.pipeline_options import FlinkRunnerOptions, PipelineOptions

_INSIDE_JOB_SERVER = ("[local]", "[auto]")
_CALL_SECONDS = 5.0
_ENDED = ("FINISHED", "CANCELED", "FAILED")
_LOOK_SECONDS = 0.2


class FlinkCluster:
    """What can be asked of a cluster. Every call may raise `OSError`.

    Args:
        address: ``host:port`` of its REST interface, or a URL.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._root = (address if "//" in address else f"http://{address}").rstrip("/")

    @classmethod
    def of(cls, options: PipelineOptions) -> "FlinkCluster | None":
        """Give the one that ``--flink_master`` names, whatever the runner."""
        address = options.view_as(FlinkRunnerOptions).flink_master
        return None if address in _INSIDE_JOB_SERVER or not urlsplit(f"//{address}").netloc else cls(address)

    def check(self) -> None:
        """Ask it anything, to know that it is there."""
        self._ask("/overview")

    def has(self, name: str) -> bool:
        """Tell whether there is a job of a name, ended or not."""
        return bool(self._jobs(name))

    def tasks(self, name: str) -> str | None:
        """Say how many of a running job's tasks are done: ``2 of 10 tasks``; None if there is none."""
        tasks = next((job["tasks"] for job in self._jobs(name) if job["state"] not in _ENDED), None)
        return None if tasks is None else f"{tasks['finished']} of {tasks['total']} tasks"

    def cancel(self, name: str, seconds: float) -> bool:
        """Cancel the jobs of a name, and wait for it; also for one that has been handed in, but is not there yet.

        Returns:
            Whether there was one and none is left.
        """
        deadline = time.monotonic() + seconds
        told = set()
        while time.monotonic() < deadline:
            jobs = self._jobs(name)
            left = [job["jid"] for job in jobs if job["state"] not in _ENDED]
            if jobs and not left:
                return True
            for job in left:
                if job not in told:
                    self._ask(f"/jobs/{job}?mode=cancel", "PATCH")
                    told.add(job)
            time.sleep(_LOOK_SECONDS)
        return False

    def _jobs(self, name: str) -> list[dict[str, Any]]:
        return [job for job in self._ask("/jobs/overview")["jobs"] if job["name"] == name]

    def _ask(self, path: str, method: str = "GET") -> Any:
        request = Request(f"{self._root}{path}", method=method)  # noqa: S310 - the address is the user's own
        with urlopen(request, timeout=_CALL_SECONDS) as answer:  # noqa: S310
            return json.loads(answer.read() or b"{}")
