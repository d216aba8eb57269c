import pytest

from pipelines.cli.sizes import parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1048576", 1_048_576),
        ("512M", 512_000_000),
        ("512MB", 512_000_000),
        ("4GiB", 4 << 30),
        ("4gib", 4 << 30),
        ("1.5 GiB", 3 << 29),
        ("64k", 64_000),
        ("64Ki", 65_536),
        ("1T", 10**12),
        ("7B", 7),
    ],
)
def test_sizes_as_people_write_them(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GiB", "-1", "1 PB", "4iB", "1e9", "four"])
def test_what_is_not_a_size(text):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared
        parse_size(text)
    assert str(caught.value) == f"{text!r} is not a size: write it as 512M or 4GiB"


def test_nothing_is_too_little():
    with pytest.raises(ValueError, match=r"^'0G' is less than a byte$"):
        parse_size("0G")
