"""The errors a user may meet. Each message is one line: what was found, where, and what to do next.

The exit code tells what is to be changed. 2, wrong usage: the command line could work nowhere, whatever lies on the
disk; the options alone say so, of which a file of options is a part. 1, failed: the same command line could work with
other files, another output directory, more space or more packages. Beside them: 0 done, 3 more bad records than were
allowed, 130 stopped by Ctrl-C.
"""


class TokenbeamError(Exception):
    """Anything tokenbeam reports on purpose; the command line shows its text without a traceback."""


class OptionError(TokenbeamError):
    """An option has a value that cannot be used, alone or with the others. Exit code 2."""


class InputError(TokenbeamError):
    """An input file or record cannot be read as asked. Exit code 1."""


class NoDocumentError(InputError):
    """The input holds no document, so nothing that was written for it is of any use. Exit code 1."""


class OutputError(TokenbeamError):
    """The output directory cannot be used as asked. Exit code 1."""
