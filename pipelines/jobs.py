"""Jobs of engines, asked alike whoever runs them."""

import contextlib
import threading
from typing import Protocol

import grpc
from apache_beam.metrics.metric import MetricResults
from apache_beam.portability.api import beam_job_api_pb2 as job_api
from apache_beam.runners.portability import portable_runner
from apache_beam.runners.runner import PipelineResult, PipelineState

from pipelines.job_servers import JobServer
from tokenize_lib.errors import TokenbeamError

_CALL_SECONDS = 30.0
_LAST_MESSAGES_SECONDS = 10.0


class Job(Protocol):
    """What is asked of a job, whoever runs it. Every call ends within seconds."""

    @property
    def id(self) -> str:
        """What the engine calls it; empty where that is not known."""

    def state(self) -> str:
        """One of `PipelineState`."""

    def metrics(self) -> MetricResults:
        """Beam's metrics, as far as the engine has them."""

    def failure(self) -> BaseException:
        """What it failed of, once it has."""

    def cancel(self) -> None:
        """Ask for its end."""

    def close(self) -> None:
        """Let go of what served it on this side."""


class _PortableJob:
    """A job of a job server, asked by calls of our own: Beam's result gives up after the time for one call."""

    def __init__(self, result: portable_runner.PipelineResult, server: JobServer | None) -> None:
        self._result = result
        self._stub = server.stub if server is not None else result._job_service  # noqa: SLF001
        self._server = server
        self.id: str = result._job_id  # noqa: SLF001
        self._errors: list[str] = []
        self._reader = self._read()

    def _read(self) -> threading.Thread:
        reader = threading.Thread(target=self._read_messages, name="job-messages", daemon=True)
        reader.start()
        return reader

    def _read_messages(self) -> None:
        with contextlib.suppress(grpc.RpcError):
            for message in self._stub.GetMessageStream(job_api.JobMessagesRequest(job_id=self.id)):
                said = message.message_response
                if said.importance == job_api.JobMessage.JOB_MESSAGE_ERROR:
                    self._errors.append(said.message_text)

    def state(self) -> str:
        if self._server is not None and (ended := self._server.ended()) is not None:
            raise TokenbeamError(f"its job server {ended}")
        found = self._stub.GetState(job_api.GetJobStateRequest(job_id=self.id), timeout=_CALL_SECONDS).state
        return str(job_api.JobState.Enum.Name(found))

    def metrics(self) -> MetricResults:
        request = job_api.GetJobMetricsRequest(job_id=self.id)
        return portable_runner.PortableMetrics(self._stub.GetJobMetrics(request, timeout=_CALL_SECONDS))

    def failure(self) -> BaseException:
        self._reader.join(_LAST_MESSAGES_SECONDS)
        if not self._errors:  # what is said while a stream begins may be lost to it; a new one gets what was said
            self._read().join(_LAST_MESSAGES_SECONDS)
        # What a worker said is in any of them; runners add errors of their own behind it.
        said = next((error for error in self._errors if "Traceback (most recent call last)" in error), None)
        return RuntimeError(said or "\n".join(self._errors) or "the runner's own log says why")

    def cancel(self) -> None:
        self._stub.Cancel(job_api.CancelJobRequest(job_id=self.id), timeout=_CALL_SECONDS)

    def close(self) -> None:
        self._result._cleanup()  # noqa: SLF001 - stops the workers of LOOPBACK, as waiting for the result would


class _OtherJob:
    """A job of a runner without a job server, such as Dataflow's, as Beam's result gives it."""

    def __init__(self, result: PipelineResult) -> None:
        self._result = result
        self._failure: BaseException | None = None
        self._ended: str | None = None
        self._waiter = threading.Thread(target=self._wait, name="job-end", daemon=True)
        self._waiter.start()

    def _wait(self) -> None:
        try:
            self._ended = str(self._result.wait_until_finish() or PipelineState.DONE)
        except Exception as error:  # noqa: BLE001 - handed to the thread that asks
            self._failure, self._ended = error, PipelineState.FAILED

    @property
    def id(self) -> str:
        job_id = getattr(self._result, "job_id", None)
        return str(job_id() if callable(job_id) else "")

    def state(self) -> str:
        return self._ended or PipelineState.RUNNING

    def metrics(self) -> MetricResults:
        return self._result.metrics()

    def failure(self) -> BaseException:
        return self._failure or RuntimeError("the runner's own log says why")

    def cancel(self) -> None:
        self._result.cancel()

    def close(self) -> None: ...


def job_of(result: PipelineResult, server: JobServer | None) -> Job:
    """Give the job that Beam's result stands for, and the job server that it was handed to, if there is one."""
    is_portable = isinstance(result, portable_runner.PipelineResult)
    return _PortableJob(result, server) if is_portable else _OtherJob(result)
