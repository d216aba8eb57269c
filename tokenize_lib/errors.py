"""The errors a user may meet. Each message is one line: what was found, where, and what to do next."""


class TokenbeamError(Exception):
    """Anything tokenbeam reports on purpose; the command line shows its text without a traceback."""


class OptionError(TokenbeamError):
    """An option has a value that cannot be used, alone or with the others. Exit code 2."""


class InputError(TokenbeamError):
    """An input file or record cannot be read as asked. Exit code 1."""


class OutputError(TokenbeamError):
    """The output directory cannot be used as asked. Exit code 1."""
