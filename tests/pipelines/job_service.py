# ruff: noqa: N802, ARG002 - the names and parameters that gRPC calls by
"""A job server that does as a test says: Beam's job API, without an engine behind it."""

import threading
from concurrent import futures

import grpc
from apache_beam.metrics.monitoring_infos import int64_user_counter
from apache_beam.portability.api import beam_artifact_api_pb2_grpc, beam_job_api_pb2_grpc
from apache_beam.portability.api import beam_job_api_pb2 as api

JOB = "job-7"


class JobService(beam_job_api_pb2_grpc.JobServiceServicer, beam_artifact_api_pb2_grpc.ArtifactStagingServiceServicer):
    """One job. A context: it listens while the block runs.

    Attributes:
        state: What it is asked for.
        counters: Attempted, by (namespace, name).
        errors: What it says of a failure.
        options: What the last pipeline was handed in with.
        cancelled: Set when it is told to cancel, which it does.
        asked: How often it was asked for the state.
        after: What to do at the n-th time.
        refusals: Status codes to answer with instead.
        deaf: How many streams of messages get none.
        runs: How many pipelines were handed in.
    """

    def __init__(self):
        self.state = api.JobState.RUNNING
        self.counters = {}
        self.errors = []
        self.options = None
        self.cancelled = threading.Event()
        self.asked = 0
        self.after = {}
        self.refusals = []
        self.deaf = 0
        self.runs = 0

    def __enter__(self):
        self._server = grpc.server(futures.ThreadPoolExecutor(8))
        beam_job_api_pb2_grpc.add_JobServiceServicer_to_server(self, self._server)
        beam_artifact_api_pb2_grpc.add_ArtifactStagingServiceServicer_to_server(self, self._server)
        self.endpoint = f"localhost:{self._server.add_insecure_port('localhost:0')}"
        self._server.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self._server.stop(0).wait()

    def DescribePipelineOptions(self, request, context):
        return api.DescribePipelineOptionsResponse()

    def Prepare(self, request, context):
        self.options = request.pipeline_options
        return api.PrepareJobResponse(preparation_id=JOB)

    def Run(self, request, context):
        self.runs += 1
        return api.RunJobResponse(job_id=JOB)

    def GetState(self, request, context):
        self.asked += 1
        self.after.get(self.asked, lambda: None)()
        if self.refusals:
            context.abort(self.refusals.pop(), "not now")
        return api.JobStateEvent(state=self.state)

    def GetStateStream(self, request, context):
        yield api.JobStateEvent(state=self.state)

    def GetMessageStream(self, request, context):
        if self.deaf:
            self.deaf -= 1
            return
        for text in self.errors:
            said = api.JobMessage(importance=api.JobMessage.JOB_MESSAGE_ERROR, message_text=text)
            yield api.JobMessagesResponse(message_response=said)

    def GetJobMetrics(self, request, context):
        infos = [
            int64_user_counter(namespace, name, value, "step") for (namespace, name), value in self.counters.items()
        ]
        return api.GetJobMetricsResponse(metrics=api.MetricResults(attempted=infos))

    def Cancel(self, request, context):
        self.cancelled.set()
        self.state = api.JobState.CANCELLED
        return api.CancelJobResponse(state=self.state)
