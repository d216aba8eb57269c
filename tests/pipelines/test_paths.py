import subprocess
import sys
from pathlib import Path

import pytest
from apache_beam.io.filesystems import FileSystems

from pipelines import paths
from pipelines.paths import filesystem_obstacle, is_local, scheme_of
from tests.pipelines.object_store import in_store


@pytest.mark.parametrize("path", ["a.txt", "/data/a.txt", "dir/s3://a", "a:b", "C://", ""])
def test_local_paths(path):
    assert is_local(path) == (path != "C://")


@pytest.mark.parametrize(
    ("path", "obstacle"),
    [
        ("/data/a.txt", None),
        (in_store(Path("a")), None),
        ("s3://b/a", "s3://b/a: s3:// needs more packages: pip install 'tokenbeam[aws]'"),
        ("gs://b/a*", "gs://b/a*: gs:// needs more packages: pip install 'tokenbeam[gcp]'"),
        ("azfs://b/a", "azfs://b/a: azfs:// needs more packages: pip install 'tokenbeam[azure]'"),
        ("hdfs://b/a", "hdfs://b/a: hdfs:// needs more packages: pip install 'tokenbeam[hadoop]'"),
        ("https://b/a", "https://b/a is a web address, which no filesystem of Beam opens: download it first"),
        ("file:///a", "file:///a: give the path without file://"),
        (
            "az://b/a",
            "az://b/a: no filesystem opens az://: give a local path, or one of s3://, gs://, azfs://, hdfs://",
        ),
    ],
)
def test_what_no_filesystem_opens(monkeypatch, path, obstacle):
    monkeypatch.setattr(paths, "_is_installed", lambda _: False)
    assert filesystem_obstacle(path) == obstacle


def test_a_module_in_a_package_that_is_not_there_is_not_installed():
    assert not paths._is_installed("no_such_package.module")
    assert paths._is_installed("apache_beam.io")


@pytest.mark.parametrize(
    "path", ["a", "s3://b/a", " gs://b", "x-1+y.z://a", "1a://b", "a b://c", "/d/s3://a", "s3:/b", "s3://", "", "é://a"]
)
def test_the_scheme_is_what_beam_takes_for_one(path):
    assert scheme_of(path) == FileSystems.get_scheme(path)


def test_a_filesystem_that_was_not_imported_with_beam_is_imported_for_its_path():
    pytest.importorskip("boto3")
    code = (
        "import sys\n"
        "from pipelines.cli.lean_imports import import_less\n"
        "import_less()\n"
        "from apache_beam.io.filesystems import FileSystems\n"
        "left_out = ('boto3', 'pymongo', 'pyparsing', 'apache_beam.io.gcp.bigquery')\n"
        "print([name for name in left_out if name in sys.modules])\n"
        "from pipelines.paths import filesystem_obstacle\n"
        "print(filesystem_obstacle('s3://bucket/a'))\n"
        "print(FileSystems.get_filesystem('s3://bucket/a').scheme())\n"
        "from apache_beam.internal.http_client import get_new_http\n"
        "print(get_new_http().timeout)\n"
        "import pymongo, apache_beam.io.gcp.bigquery\n"
        "print(pymongo.__name__)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "None", "s3", "60", "pymongo"]
