"""``encode``, ``decode`` and ``show``: what they print, to the byte."""

import io
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipelines.cli.main import cli, run
from tests.tokenize_lib.published import published


def output_of(*argv: str, stdin: bytes | None = None) -> bytes:
    result = CliRunner().invoke(cli, argv, input=stdin, catch_exceptions=False, standalone_mode=False)
    assert result.stderr == ""
    return result.stdout_bytes


def refusal(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str]:
    code = run(argv)
    out, err = capsys.readouterr()
    assert out == ""
    return code, err


def test_ids_are_a_line_a_text(tmp_path: Path) -> None:
    assert output_of("encode", "hello world", "--tokenizer", "o200k_base") == b"24912 2375\n"
    assert output_of("encode", "", "-t", "gpt-4o") == b"\n"
    assert output_of("encode", "hi <|endoftext|>", "-t", "gpt-4o", "--special", "allow") == b"3686 220 199999\n"
    lines = "\ufeffhello world\r\n\nxin chào".encode()
    expected = b"24912 2375 201\n\n77750 549 35134\n"
    assert output_of("encode", "-t", "o200k_base", stdin=lines) == expected
    assert output_of("encode", "-t", "o200k_base", "-i", "-", stdin=lines) == expected
    path = tmp_path / "lines.txt"
    path.write_bytes(lines)
    assert output_of("encode", "-t", "o200k_base", "-i", str(path)) == expected
    whole = published("o200k_base").encode_ordinary("hello world\r\n\nxin chào")
    found = output_of("encode", "-t", "o200k_base", "-i", str(path), "--document", "file")
    assert found == " ".join(map(str, whole)).encode() + b"\n"
    assert output_of("encode", "-t", "o200k_base", stdin=b"") == b""


def test_decoding_writes_the_bytes() -> None:
    assert output_of("decode", "24912 2375", "-t", "o200k_base") == b"hello world"
    assert output_of("decode", "24912", "2375", "-t", "o200k_base") == b"hello world"
    assert output_of("decode", "[24912, 2375]", "-t", "gpt-4o") == b"hello world"
    assert output_of("decode", "254", "-t", "o200k_base") == b"\xa0"
    assert (
        output_of("decode", "-t", "o200k_base", stdin=b"24912 2375 201\n\n[199999]")
        == b"hello world\r\n\n<|endoftext|>\n"
    )


def test_lines_come_back() -> None:
    lines = "  two  spaces\r\n\nកាហ្វេ\0\u2028x 👩\u200d💻\n".encode() * 50
    for name in ("o200k_base", "gpt2", "chars", "bytes"):
        assert output_of("decode", "-t", name, stdin=output_of("encode", "-t", name, stdin=lines)) == lines


KHMER = r"""
    កាហ្វេ
    6 characters, 18 bytes, 1 word
    code points: 1780 17b6 17a0 17d2 179c 17c1
    UTF-8 bytes: e1 9e 80 e1 9e b6 e1 9e a0 e1 9f 92 e1 9e 9c e1 9f 81

    o200k_base: 5 tokens
    ក|ា\xe1\x9e|\xa0|្វ|េ
         id  at  bytes              piece
      11400   0  e1 9e 80           "ក"
       6849   3  e1 9e b6 e1 9e     "ា\xe1\x9e"
        254   8  a0                 "\xa0"
      70906   9  e1 9f 92 e1 9e 9c  "្វ"
      16217  15  e1 9f 81           "េ"
    1 character is cut inside: ហ at byte 6 (ids 6849 254)

    words: 1 token
    កាហ្វេ
      id  at  bytes                                                  piece
       -   0  e1 9e 80 e1 9e b6 e1 9e a0 e1 9f 92 e1 9e 9c e1 9f 81  "កាហ្វេ"
"""

ODDITIES = r"""
    coffee
    6 characters, 6 bytes, 1 word
    code points: 0063 006f 0066 0066 0065 0065
    UTF-8 bytes: 63 6f 66 66 65 65

    cl100k_base: 1 token
    coffee
         id  at  bytes              piece
      79217   0  63 6f 66 66 65 65  "coffee"

     coffee
    7 characters, 7 bytes, 1 word
    code points: 0020 0063 006f 0066 0066 0065 0065
    UTF-8 bytes: 20 63 6f 66 66 65 65

    cl100k_base: 1 token
     coffee
         id  at  bytes                 piece
      11033   0  20 63 6f 66 66 65 65  " coffee"

    Coffee
    6 characters, 6 bytes, 1 word
    code points: 0043 006f 0066 0066 0065 0065
    UTF-8 bytes: 43 6f 66 66 65 65

    cl100k_base: 1 token
    Coffee
         id  at  bytes              piece
      83380   0  43 6f 66 66 65 65  "Coffee"

    2026
    4 characters, 4 bytes, 1 word
    code points: 0032 0030 0032 0036
    UTF-8 bytes: 32 30 32 36

    cl100k_base: 2 tokens
    202|6
        id  at  bytes     piece
      2366   0  32 30 32  "202"
        21   3  36        "6"

    strawberry
    10 characters, 10 bytes, 1 word
    code points: 0073 0074 0072 0061 0077 0062 0065 0072 0072 0079
    UTF-8 bytes: 73 74 72 61 77 62 65 72 72 79

    cl100k_base: 3 tokens
    str|aw|berry
         id  at  bytes           piece
        496   0  73 74 72        "str"
        675   3  61 77           "aw"
      15717   5  62 65 72 72 79  "berry"
"""


def shown(text: str) -> str:
    return textwrap.dedent(text).removeprefix("\n")


def test_the_lessons_tables() -> None:
    assert output_of("show", "កាហ្វេ", "-t", "o200k_base", "-t", "words").decode() == shown(KHMER)
    texts = ("coffee", " coffee", "Coffee", "2026", "strawberry")
    assert output_of("show", *texts, "-t", "cl100k_base").decode() == shown(ODDITIES)
    assert output_of("show", "-t", "cl100k_base", stdin="\n".join(texts).encode()).decode() == shown(ODDITIES)


def test_bytes_of_one_character_are_one_character_cut() -> None:
    found = output_of("show", "ក\n", "-t", "r50k_base").decode().splitlines()
    assert found[0] == r"ក\n"
    assert found[5:7] == ["r50k_base: 4 tokens", r"\xe1|\x9e|\x80|\n"]
    assert found[-1] == "1 character is cut inside: ក at byte 0 (ids 157 252 222)"
    found = output_of("show", "ក" * 9, "-t", "bytes").decode().splitlines()
    assert found[-1].startswith("9 characters are cut inside: ក at byte 0 (ids 225 158 128), ")
    assert found[-1].endswith("ក at byte 21 (ids 225 158 128), and 1 more")
    assert output_of("show", "", "-t", "bytes").decode() == shown("""
        \n        0 characters, 0 bytes, 0 words
        code points:
        UTF-8 bytes:

        bytes: 0 tokens
    """)


class _Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for no_colour, expected in (("", "\x1b[30m\x1b[46mlow\x1b[0m\x1b[30m\x1b[45m lower\x1b[0m"), ("1", "low| lower")):
        monkeypatch.setenv("NO_COLOR", no_colour)
        terminal = _Terminal(io.BytesIO(), "utf-8", write_through=True)
        monkeypatch.setattr(sys, "stdout", terminal)
        assert run(["show", "low lower", "-t", "o200k_base"]) == 0
        assert terminal.buffer.getvalue().decode().splitlines()[6] == expected


def test_what_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_bytes(b"hi\nb\xff\n")
    assert refusal(capsys, "encode", "-t", "gpt2", "-i", str(lines)) == (
        1,
        f"Error: {lines}, line 2: the text is not UTF-8: byte 1 is 0xff\n",
    )
    assert refusal(capsys, "show", "-t", "gpt2", "-i", str(lines), "--document", "file") == (
        1,
        f"Error: {lines}: the text is not UTF-8: byte 4 is 0xff\n",
    )
    lines.write_bytes(b"5\n7 x\n")
    assert refusal(capsys, "decode", "-t", "gpt2", "-i", str(lines)) == (
        1,
        f"Error: {lines}, line 2: 'x' is no token id: ids are whole numbers\n",
    )
    assert refusal(capsys, "decode", "-t", "gpt2", "50257") == (
        1,
        "Error: 50257 is the id of no token of gpt2: it has ids from 0 to 50256\n",
    )
    assert refusal(capsys, "encode", "-t", "gpt2", "a<|endoftext|>", "--special", "deny") == (
        1,
        (
            "Error: the text has the special token '<|endoftext|>' at byte 1: "
            "allow special tokens, or take them as text (--special, or special=, allow or text)\n"
        ),
    )
    assert refusal(capsys, "encode", "-t", "gpt2", "-i", str(tmp_path / "none")) == (
        1,
        f"Error: {tmp_path / 'none'} cannot be read: No such file or directory\n",
    )
    assert refusal(capsys, "encode", "a", "-t", "gpt2", "-i", str(lines)) == (
        2,
        "Error: give a text, or -i FILE, not both\n",
    )
    assert refusal(capsys, "encode", "a", "-t", "words") == (
        2,
        "Error: words have no ids: count them, or show them\n",
    )
    code, err = refusal(capsys, "show", "a", "-t", "gpt4o")
    assert code == 2
    assert err.startswith("Error: --tokenizer 'gpt4o': no such tokenizer or file; did you mean gpt-4o or ")


def test_a_reader_may_stop_early_and_beam_is_not_imported(tmp_path: Path) -> None:
    path = tmp_path / "many.txt"
    path.write_text("hello\n" * 200_000)
    code = (
        "import sys\n"
        "from pipelines.cli.main import run\n"
        f"code = run(['encode', '-t', 'gpt2', '-i', {str(path)!r}])\n"
        "print(code, 'apache_beam' in sys.modules, file=sys.stderr)"
    )
    reading, writing = os.pipe()
    process = subprocess.Popen([sys.executable, "-c", code], stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert os.read(reading, 6) == b"31373\n"
    os.close(reading)
    _, err = process.communicate()
    assert err == "0 False\n"
