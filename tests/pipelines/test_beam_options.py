import socket

import pytest
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import S3Options

from pipelines.beam_options import check_beam_args, engine_warnings, take_beam_args, with_parallelism
from tokenize_lib.errors import InputError, OptionError

FLINK = ["--runner=FlinkRunner", "--flink_master=host:8081"]


@pytest.mark.parametrize(
    ("beam_args", "message"),
    [
        (
            ["--runner", "DaskRunner"],
            (
                "-- --runner DaskRunner silently loses records (pipelines with several outputs): "
                "use FlinkRunner, SparkRunner or DataflowRunner, or leave the option out"
            ),
        ),
        (
            [*FLINK, "--environment_type=LOOBPACK"],
            ("-- --environment_type LOOBPACK: Beam has no such type; give DOCKER, PROCESS, EXTERNAL or LOOPBACK"),
        ),
        (
            [*FLINK, "--environment_type=loopback"],
            "-- --environment_type loopback: Beam has no such type; give DOCKER, PROCESS, EXTERNAL or LOOPBACK",
        ),
        (
            ["--runner=InteractiveRunner"],
            "-- --runner InteractiveRunner is for notebooks, not for a batch job: leave the option out",
        ),
        (["--wrokers=3"], "Beam does not know --wrokers=3 (after --)"),
        (["stray.txt"], "Beam does not know stray.txt (after --)"),
        (["--runner=DirectRunner", "--nope"], "Beam does not know --nope (after --)"),
        (
            ["--direct_running_mode=fast"],
            (
                "Beam: argument --direct_running_mode: invalid choice: 'fast' "
                "(choose from 'in_memory', 'multi_threading', 'multi_processing') (after --)"
            ),
        ),
    ],
)
def test_beam_options_that_cannot_be(beam_args, message):
    with pytest.raises(OptionError) as caught:
        check_beam_args(beam_args)
    assert str(caught.value) == message


def test_options_of_other_runners_pass():
    check_beam_args(["--runner=FlinkRunner", "--flink_master=localhost:8081", "--parallelism=4"])


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("FlinkRuner", "FlinkRunner"),
        ("sparkrunner2", "SparkRunner"),
        ("dataflw", "DataflowRunner"),
        ("cluster", "FlinkRunner, SparkRunner, DataflowRunner, PrismRunner or PortableRunner"),
    ],
)
def test_a_runner_that_is_not_there_gets_near_names(name, near):
    with pytest.raises(OptionError) as caught:
        check_beam_args(["--runner", name])
    assert str(caught.value) == f"-- --runner {name}: Beam has no such runner; did you mean {near}?"


@pytest.mark.parametrize("name", ["flink", "FlinkRunner", "flinkrunner", "my.own.Runner"])
def test_runners_as_beam_takes_them_pass(name):
    check_beam_args(["--runner", name])


@pytest.mark.parametrize("option", ["flink_job_server_jar", "spark_job_server_jar", "prism_location"])
def test_a_file_of_the_runners_that_is_not_there(option, tmp_path):
    with pytest.raises(InputError) as caught:
        check_beam_args(["--runner=FlinkRunner", f"--{option}={tmp_path}/no"])
    assert str(caught.value) == f"-- --{option} {tmp_path}/no: no such file"
    check_beam_args(["--runner=FlinkRunner", f"--{option}=https://example.org/file"])


@pytest.mark.parametrize(
    ("beam_args", "more", "obstacle"),
    [
        ([], (), None),
        (["--runner=FlinkRunner"], ("--parallelism=5",), None),
        (["--runner=FlinkRunner", "--parallelism=9"], (), None),
        (["--runner=PortableRunner", "--job_endpoint=x:1"], ("--parallelism=5",), None),
        (["--runner=DataflowRunner"], ("--max_num_workers=5",), None),
        (["--runner=DataflowRunner", "--max_num_workers=3"], (), None),
        (
            ["--runner=SparkRunner"],
            (),
            "--workers 5 does not reach SparkRunner: set it where Spark's executors are configured",
        ),
        (["--runner=prism"], (), "--workers 5 does not reach PrismRunner: it has no such option"),
    ],
)
def test_workers_are_what_the_runner_calls_so(beam_args, more, obstacle):
    assert with_parallelism(beam_args, 5) == ((*beam_args, *more), obstacle)


def test_a_path_that_other_machines_do_not_see():
    assert list(engine_warnings(FLINK, ["s3://bucket/corpus", "corpus.txt", "out"])) == [
        (
            "corpus.txt is a path of this machine: workers of FlinkRunner on other machines do not see it, "
            "unless it is a mount that all have"
        )
    ]
    assert list(engine_warnings(FLINK, ["s3://bucket/corpus", "gs://bucket/out"])) == []


@pytest.mark.parametrize(
    "beam_args",
    [
        [],
        ["--runner=FlinkRunner"],
        ["--runner=FlinkRunner", "--flink_master=[local]"],
        ["--runner=PrismRunner"],
        ["--runner=SparkRunner", "--spark_master_url=local[2]"],
        ["--runner=PortableRunner", "--job_endpoint=localhost:8099", "--environment_type=LOOPBACK"],
        ["--runner=PortableRunner", f"--job_endpoint={socket.gethostname()}:8099", "--environment_type=LOOPBACK"],
    ],
)
def test_nothing_to_warn_of_where_all_is_on_this_machine(beam_args):
    assert list(engine_warnings(beam_args, ["corpus.txt"])) == []


@pytest.mark.parametrize(
    ("beam_args", "where"),
    [
        ([*FLINK, "--environment_type=LOOPBACK"], "FlinkRunner at host:8081"),
        (
            ["--runner=SparkRunner", "--spark_master_url=spark://host:7077", "--environment_type=loopback"],
            "SparkRunner at spark://host:7077",
        ),
        (
            ["--runner=PortableRunner", "--job_endpoint=host:8099", "--environment_type=LOOPBACK"],
            "PortableRunner at host:8099",
        ),
    ],
)
def test_workers_here_for_an_engine_elsewhere(beam_args, where):
    assert list(engine_warnings(beam_args, ["corpus.txt"])) == [
        (
            f"--environment_type LOOPBACK does all the work in this process, which {where} reaches only "
            "if it runs on this machine"
        )
    ]


def test_filesystems_know_beams_options_before_there_is_a_pipeline(monkeypatch):
    """Without, listing s3:// fails: it looks for endpoint and credentials there."""
    monkeypatch.setattr(FileSystems, "_pipeline_options", None)
    take_beam_args(["--s3_endpoint_url", "http://127.0.0.1:9000"])
    assert FileSystems._pipeline_options.view_as(S3Options).s3_endpoint_url == "http://127.0.0.1:9000"
    take_beam_args([])
    assert FileSystems._pipeline_options.view_as(S3Options).s3_endpoint_url is None
