"""Starts a Python worker as Beam's container does, for engines that start workers as processes: ``worker --id=ID
--provision_endpoint=HOST:PORT``.

Beam's Python package holds no such program (the container's is written in Go), only the worker itself, which takes what
the engine provides by its environment.
"""

import argparse
import os

import grpc
from apache_beam.portability.api import beam_provision_api_pb2, beam_provision_api_pb2_grpc
from apache_beam.runners.worker import sdk_worker_main
from google.protobuf import json_format, text_format

_WAIT_SECONDS = 60


def main() -> None:
    """Ask the engine what to do and where, then work until it says that there is no more."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--id", required=True)
    parser.add_argument("--provision_endpoint", required=True)
    given, _ = parser.parse_known_args()
    identity = (("worker_id", given.id),)
    with grpc.insecure_channel(given.provision_endpoint) as channel:
        grpc.channel_ready_future(channel).result(_WAIT_SECONDS)
        asked = beam_provision_api_pb2.GetProvisionInfoRequest()
        provision = beam_provision_api_pb2_grpc.ProvisionServiceStub(channel)
        info = provision.GetProvisionInfo(asked, metadata=identity, timeout=_WAIT_SECONDS).info
    os.environ.update(
        WORKER_ID=given.id,
        PIPELINE_OPTIONS=json_format.MessageToJson(info.pipeline_options),
        RUNNER_CAPABILITIES=" ".join(info.runner_capabilities),
        LOGGING_API_SERVICE_DESCRIPTOR=text_format.MessageToString(info.logging_endpoint),
        CONTROL_API_SERVICE_DESCRIPTOR=text_format.MessageToString(info.control_endpoint),
    )
    sdk_worker_main.main([])


if __name__ == "__main__":
    main()
