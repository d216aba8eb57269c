import stat

import pytest
from apache_beam.options.pipeline_options import PipelineOptions, PortableOptions
from apache_beam.runners.runner import create_runner

from pipelines import job_servers
from pipelines.job_servers import job_server_for
from tokenize_lib.errors import TokenbeamError


def ask(name, *beam_args):
    return job_server_for(create_runner(name), PipelineOptions(list(beam_args)), name, beam_args)


def script(path, text):
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_runner_that_needs_an_endpoint():
    with pytest.raises(TokenbeamError) as caught:
        ask("PortableRunner")
    assert str(caught.value) == "PortableRunner needs --job_endpoint HOST:PORT after --, where a job server listens"


def test_java_that_is_not_there(tmp_path):
    jar = script(tmp_path / "server.jar", "")
    with pytest.raises(TokenbeamError) as caught:
        ask("FlinkRunner", f"--flink_job_server_jar={jar}", f"--job_server_java_launcher={tmp_path}/java")
    assert str(caught.value) == (
        f"{tmp_path}/java is not there, with which FlinkRunner starts its job server: install it, or name a job server "
        "that runs with --job_endpoint HOST:PORT"
    )


def test_a_job_server_that_does_not_start_says_why(tmp_path):
    jar = script(tmp_path / "server.jar", "")
    java = script(tmp_path / "java", "#!/bin/sh\necho 'Error: no main class'; echo '  at Main'; exit 3\n")
    with pytest.raises(TokenbeamError) as caught:
        ask("FlinkRunner", f"--flink_job_server_jar={jar}", f"--job_server_java_launcher={java}")
    assert str(caught.value) == "the job server of FlinkRunner ended with exit code 3 (Error: no main class)"


def test_a_job_server_that_is_embedded_is_known_again():
    options = PipelineOptions(["--job_endpoint=embed"])
    first = job_server_for(create_runner("PortableRunner"), options, "PortableRunner", ())
    assert options.view_as(PortableOptions).job_endpoint == first.endpoint
    assert ask("PortableRunner", "--job_endpoint=embed") is first


def test_runners_without_job_servers_have_none():
    assert ask("BundleBasedDirectRunner") is None


def test_none_is_left_to_stop():
    job_servers.stop_job_servers()
    assert job_servers._started == {}
