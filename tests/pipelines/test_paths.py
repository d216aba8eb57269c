import pytest

from pipelines import paths
from pipelines.paths import filesystem_obstacle, is_local


@pytest.mark.parametrize("path", ["a.txt", "/data/a.txt", "dir/s3://a", "a:b", "C://", ""])
def test_local_paths(path):
    assert is_local(path) == (path != "C://")


@pytest.mark.parametrize(
    ("path", "obstacle"),
    [
        ("/data/a.txt", None),
        ("objects://bucket/a", None),
        ("s3://b/a", "s3://b/a: s3:// needs more packages: pip install 'apache-beam[aws]'"),
        ("gs://b/a*", "gs://b/a*: gs:// needs more packages: pip install 'apache-beam[gcp]'"),
        ("azfs://b/a", "azfs://b/a: azfs:// needs more packages: pip install 'apache-beam[azure]'"),
        ("hdfs://b/a", "hdfs://b/a: hdfs:// needs more packages: pip install 'apache-beam[hadoop]'"),
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
