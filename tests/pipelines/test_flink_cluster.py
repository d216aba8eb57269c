import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from pipelines.flink_cluster import FlinkCluster


@pytest.fixture
def flink():
    """Flink's REST interface with these jobs: name, state. A job that is told to cancel does so when asked next."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.answer({"jobs": [job for job in server.jobs if job["state"] != "UNBORN"]})
            server.asked += 1
            for job in server.jobs:
                job["state"] = server.next.get(job["state"], job["state"])

        def do_PATCH(self):
            server.told.append(self.path)
            for job in server.jobs:
                if f"/jobs/{job['jid']}?" in self.path:
                    job["state"] = "CANCELLING"
            self.answer({})

        def answer(self, body):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("localhost", 0), Handler)
    server.jobs, server.told, server.asked = [], [], 0
    server.next = {"CANCELLING": "CANCELED"}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.cluster = FlinkCluster(f"localhost:{server.server_port}")
    yield server
    server.shutdown()
    server.server_close()


def job(jid, name, state, finished=0, total=1):
    return {"jid": jid, "name": name, "state": state, "tasks": {"finished": finished, "total": total}}


def test_the_job_of_a_name_is_cancelled_and_no_other(flink):
    flink.jobs = [job("a", "ours", "RUNNING"), job("b", "theirs", "RUNNING"), job("c", "ours", "FINISHED")]
    assert flink.cluster.cancel("ours", 60)
    assert flink.told == ["/jobs/a?mode=cancel"]
    assert [each["state"] for each in flink.jobs] == ["CANCELED", "RUNNING", "FINISHED"]


def test_a_job_that_comes_late_is_waited_for(flink):
    flink.jobs = [job("a", "ours", "UNBORN")]
    flink.next["UNBORN"] = "CREATED"
    assert flink.cluster.cancel("ours", 60)
    assert flink.jobs[0]["state"] == "CANCELED"


def test_a_job_that_never_comes(flink):
    assert not flink.cluster.cancel("ours", 0.5)
    assert not flink.cluster.has("ours")
    assert flink.told == []


def test_tasks_of_a_running_job(flink):
    flink.jobs = [job("a", "ours", "FAILED", 9, 9), job("b", "ours", "RUNNING", 2, 10)]
    assert flink.cluster.tasks("ours") == "2 of 10 tasks"
    assert flink.cluster.tasks("theirs") is None


@pytest.mark.parametrize(
    ("beam_args", "address"),
    [
        ([], None),
        (["--flink_master=[local]"], None),
        (["--flink_master=host:8081"], "host:8081"),
        (["--flink_master=https://host:8081/"], "https://host:8081/"),
    ],
)
def test_the_cluster_that_the_options_name(beam_args, address):
    cluster = FlinkCluster.of(PipelineOptions(beam_args))
    assert (None if cluster is None else cluster.address) == address
