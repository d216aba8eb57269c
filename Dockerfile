# syntax=docker/dockerfile:1
# The image of a worker: Beam's own with the wheel in it. Nothing is compiled, here or when a worker starts.
#
#   make wheel && docker build -t REGISTRY/tokenbeam-worker:0.1.0 .
#
# How Flink, Spark and Dataflow are told to use it: docs/clusters.md.

# The driver's, exactly: Beam checks that the two are equal, and pickled code asks for the same Python.
ARG BEAM_VERSION=2.77.0
ARG PYTHON_VERSION=3.11
FROM apache/beam_python${PYTHON_VERSION}_sdk:${BEAM_VERSION}

# An ARG before FROM is not known behind it unless it is named again.
ARG BEAM_VERSION
# Filesystems of Beam that workers need beside local paths: aws, gcp, azure, hadoop; separated by commas.
ARG BEAM_EXTRAS=gcp,aws

RUN --mount=type=bind,source=dist,target=/wheels \
    pip install --no-cache-dir --only-binary=:all: \
        "apache-beam[${BEAM_EXTRAS}]==${BEAM_VERSION}" \
        /wheels/tokenbeam-*-cp311-abi3-*_$(uname -m).whl \
    && pip check \
    && cd / && tokenbeam --version && python -c 'import tokenize_lib._native, pipelines.train, pipelines.count'

# Beam's boot program would make a virtual environment at every start, for packages that a job brings along; ours
# brings none.
ENV RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT=1

# ENTRYPOINT stays Beam's /opt/apache/beam/boot: engines pass it what it needs; with --worker_pool it serves on port 50000.
