"""Tokenizers from wherever Beam reads: a local path, or one with a scheme."""

from tokenize_lib.encodings import load_tokenizer
from tokenize_lib.errors import InputError
from tokenize_lib.tokenizer import Tokenizer


def open_tokenizer(spec: str, *, pretokenizer: str | None = None) -> Tokenizer:
    """Load a tokenizer as `tokenize_lib.load_tokenizer` does, also from ``gs://`` and what else Beam opens.

    Beam is imported for such a path alone. Workers need none: the tokenizer is pickled with what it is made of.

    Raises:
        OptionError: There is no such tokenizer.
        InputError: A file cannot be read, or holds no tokenizer.
    """
    if "://" not in spec:
        return load_tokenizer(spec, pretokenizer=pretokenizer)
    from pipelines.paths import store_errors, store_obstacle  # noqa: PLC0415
    from tokenize_lib.tokenizer_files import TokenizerFiles, tokenizer_of_files  # noqa: PLC0415

    if (obstacle := store_obstacle(spec)) is not None:
        raise InputError(obstacle)
    try:
        files = _read(spec.rstrip("/"))
    except Exception as error:
        if isinstance(error, (ValueError, *store_errors())):
            raise InputError(f"{spec} cannot be read: {error}") from error
        raise
    return tokenizer_of_files(TokenizerFiles.of(spec.rstrip("/"), files, pretokenizer))


def _read(path: str) -> dict[str, bytes]:
    """The files of a directory that holds a tokenizer, or the file itself."""
    from apache_beam.io.filesystems import FileSystems  # noqa: PLC0415

    from pipelines.run_files import open_for_reading  # noqa: PLC0415
    from tokenize_lib.tokenizer_files import IN_DIRECTORY  # noqa: PLC0415

    def content(name: str) -> bytes:
        with open_for_reading(name) as stream:
            found: bytes = stream.read()
        return found

    for names in IN_DIRECTORY:
        if all(FileSystems.exists(f"{path}/{name}") for name in names):
            return {name: content(f"{path}/{name}") for name in names}
    return {path.rsplit("/", 1)[1]: content(path)}
