"""What a run does with what already lies in its output directory."""

import dataclasses

from tokenize_lib.errors import OptionError


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunMode:
    """Neither: the directory must be new or empty.

    Attributes:
        resume: Go on with the run that was stopped there; only unfinished work is done.
        replace: Remove what an earlier run wrote there, then start anew.

    Raises:
        OptionError: Both are asked for.
    """

    resume: bool = False
    replace: bool = False

    def __post_init__(self) -> None:
        if self.resume and self.replace:
            raise OptionError("--resume keeps an earlier run and --replace removes it: give one of them")
