"""The recipe of the worker image against what the project says of itself. No container engine is needed."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename
from packaging.version import Version

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def recipe() -> list[str]:
    """Instructions, a string each, without comments; continued lines are joined."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.startswith("#")]
    return [" ".join(line.split()) for line in "\n".join(lines).replace("\\\n", " ").splitlines() if line.strip()]


@pytest.fixture(scope="module")
def arguments(recipe: list[str]) -> dict[str, str]:
    return dict(line.removeprefix("ARG ").split("=", 1) for line in recipe if re.fullmatch(r"ARG \w+=.*", line))


def test_the_base_is_beams_own_image_of_a_beam_and_a_python_that_the_project_takes(
    project: dict, recipe: list[str], arguments: dict[str, str]
) -> None:
    [base] = [line for line in recipe if line.startswith("FROM ")]
    assert base == "FROM apache/beam_python${PYTHON_VERSION}_sdk:${BEAM_VERSION}"
    [beam] = [found for found in map(Requirement, project["dependencies"]) if found.name == "apache-beam"]
    assert Version(arguments["BEAM_VERSION"]) in beam.specifier
    assert Version(arguments["PYTHON_VERSION"]) in SpecifierSet(project["requires-python"])


def test_beam_stays_at_the_version_of_the_image(recipe: list[str]) -> None:
    [run] = [line for line in recipe if line.startswith("RUN ")]
    assert '"apache-beam[${BEAM_EXTRAS}]==${BEAM_VERSION}"' in run
    place = recipe.index(next(line for line in recipe if line.startswith("FROM ")))
    assert "ARG BEAM_VERSION" in recipe[place + 1 :], "an ARG before FROM is empty behind it unless it is named again"


def test_nothing_is_compiled_and_the_entry_point_stays_beams(recipe: list[str]) -> None:
    text = "\n".join(recipe)
    assert "--only-binary=:all:" in text
    assert not re.search(r"\b(cargo|rustc|gcc|apt-get|maturin)\b", text)
    assert not any(line.startswith(("ENTRYPOINT", "CMD")) for line in recipe)
    assert "ENV RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT=1" in recipe


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_pattern_takes_the_wheel_that_make_wheel_builds(
    project: dict, recipe: list[str], arguments: dict[str, str], machine: str
) -> None:
    [pattern] = re.findall(r"/wheels/(.+?\.whl)", "\n".join(recipe))
    name = f"tokenbeam-{project['version']}-cp311-abi3-manylinux2014_{machine}.manylinux_2_17_{machine}.whl"
    assert Path(name).match(pattern.replace("$(uname -m)", machine))
    _, _, _, tags = parse_wheel_filename(name)
    python = tuple(map(int, arguments["PYTHON_VERSION"].split(".")))
    platforms = [f"manylinux2014_{machine}", f"manylinux_2_17_{machine}"]
    assert tags & {*cpython_tags(python, platforms=platforms), *compatible_tags(python, platforms=platforms)}


def test_the_image_takes_the_wheel_alone() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == ["*", "!dist/*.whl"]
