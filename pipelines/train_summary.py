"""What a finished training run tells the person who started it."""

import dataclasses
from collections.abc import Iterator

from pipelines.progress import format_bytes, format_ratio, format_seconds
from pipelines.words import number_of


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainSummary:
    """The figures of a training run.

    Attributes:
        output: The run directory.
        already_finished: The directory held this run, finished; nothing was done.
        documents: Documents trained on, empty ones included.
        empty_documents: Those of them without a character.
        bad_records: Records that were set aside.
        mended_documents: Documents with U+FFFD where they would have been bad records.
        not_nfc_documents: Documents trained on as they are, though not in Unicode's composed form.
        text_bytes: UTF-8 bytes of the documents' text.
        pretokens: Pretokens in the corpus, repeats counted.
        distinct_pretokens: Rows of the pretoken table.
        rounds: Passes over the pretoken table.
        merges: Merges made.
        vocab_size: Entries of the vocabulary.
        wanted_vocab_size: Entries that were asked for.
        corpus_tokens: Tokens of the corpus in the finished vocabulary, special tokens aside.
        seconds: Duration of the whole run, resumed parts not counted.
    """

    output: str
    documents: int
    empty_documents: int
    bad_records: int
    mended_documents: int
    not_nfc_documents: int
    text_bytes: int
    pretokens: int
    distinct_pretokens: int
    rounds: int
    merges: int
    vocab_size: int
    wanted_vocab_size: int
    corpus_tokens: int
    seconds: float
    already_finished: bool = False

    @property
    def vocabulary_reached(self) -> bool:
        """Whether the corpus gave as many merges as were asked for."""
        return self.vocab_size >= self.wanted_vocab_size

    def lines(self) -> Iterator[str]:
        """Give the closing summary, a line each."""
        if self.already_finished:
            yield f"This run is finished already: {self.output}"
        else:
            yield f"Done in {format_seconds(self.seconds)}: {self.output}"
        documents = f"{self.documents:,} ({format_bytes(self.text_bytes)} of text)"
        if self.empty_documents:
            documents += f", {self.empty_documents:,} of them empty"
        if self.bad_records:
            documents += f"; bad records: {self.bad_records:,}, listed in bad_records/"
        if self.mended_documents:
            documents += f"; mended with U+FFFD: {self.mended_documents:,}"
        yield f"  documents   {documents}"
        if self.not_nfc_documents:
            are = "document is" if self.not_nfc_documents == 1 else "documents are"
            yield f"  not NFC     {self.not_nfc_documents:,} {are} not: --normalize nfc makes equal texts equal tokens"
        yield f"  pretokens   {self.pretokens:,} ({self.distinct_pretokens:,} distinct)"
        yield f"  merges      {self.merges:,} in {number_of(self.rounds, 'round')}"
        yield f"  vocabulary  {self.vocab_size:,}"
        if self.corpus_tokens:
            per_byte = self.corpus_tokens / self.text_bytes
            yield (
                f"  tokens      {self.corpus_tokens:,} on this corpus: {format_ratio(per_byte)} a byte, "
                f"{1 / per_byte:,.2f} bytes a token"
            )
