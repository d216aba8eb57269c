"""What is left out of importing Beam is there when it is asked for. In processes of their own, as it is done once."""

import subprocess
import sys


def printed(code: str) -> list[str]:
    code = f"from pipelines.cli.lean_imports import import_less\nimport_less()\nimport apache_beam, sys\n{code}"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()


def test_beam_comes_without_what_is_not_used() -> None:
    left_out = "('pandas', 'pymongo', 'pyparsing', 'boto3', 'apache_beam.io.gcp.bigquery', 'beartype._decor')"
    assert printed(f"print([name for name in {left_out} if name in sys.modules])") == ["[]"]


def test_types_are_compared_as_ever() -> None:
    code = (
        "from apache_beam.typehints import typehints\n"
        "import typing\n"
        "compare = typehints.is_consistent_with\n"
        "print(compare(bool, int), compare(str, int), compare(typing.List[bool], typing.List[int]))\n"
        "import beartype.door, beartype.roar\n"
        "print(typehints.is_subhint is beartype.door.is_subhint)\n"
        "print(typehints.BeartypeDoorException is beartype.roar.BeartypeDoorException)\n"
        "try:\n"
        "    typehints.is_subhint(1, 2)\n"
        "except beartype.roar.BeartypeException as error:\n"
        "    print(isinstance(error, beartype.roar.BeartypeDoorException))\n"
    )
    assert printed(code) == ["True False True", "True", "True", "True"]


def test_beartype_is_itself_for_all_others() -> None:
    assert printed("import beartype.door; print(beartype.door.is_subhint.__module__.split('.')[0])") == ["beartype"]


def test_http_is_there_when_beam_uses_it() -> None:
    code = "from apache_beam.internal.http_client import get_new_http\nprint(get_new_http().timeout)"
    assert printed(code) == ["60"]
