"""GPT-2's printable character for every byte, which Hugging Face's files use to write bytes as text.

Source: ``bytes_to_unicode`` in https://github.com/openai/gpt-2/blob/master/src/encoder.py
"""

_PRINTED_AS_THEMSELVES = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}


def _character_of_each_byte() -> list[str]:
    stand_ins = iter(range(0x100, 0x200))
    return [chr(byte if byte in _PRINTED_AS_THEMSELVES else next(stand_ins)) for byte in range(256)]


CHARACTERS: tuple[str, ...] = tuple(_character_of_each_byte())
"""``CHARACTERS[byte]`` stands for the byte."""

BYTES: dict[str, int] = {character: byte for byte, character in enumerate(CHARACTERS)}
"""The byte that a character stands for."""

ALPHABET: tuple[bytes, ...] = tuple(bytes([byte]) for byte in sorted(range(256), key=CHARACTERS.__getitem__))
"""The 256 bytes in the order of their ids: by the code point of their character."""
