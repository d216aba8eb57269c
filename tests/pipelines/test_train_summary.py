import dataclasses

import pytest

from pipelines.run_mode import RunMode
from pipelines.train_summary import TrainSummary
from tokenize_lib.errors import OptionError

SUMMARY = TrainSummary(
    output="out",
    documents=1200,
    empty_documents=3,
    bad_records=2,
    mended_documents=0,
    not_nfc_documents=0,
    text_bytes=4_000_000,
    pretokens=900_000,
    distinct_pretokens=54_321,
    rounds=1,
    merges=7744,
    vocab_size=8000,
    wanted_vocab_size=8000,
    corpus_tokens=1_000_000,
    seconds=2.5,
)


def test_the_summary_for_people():
    assert list(SUMMARY.lines()) == [
        "Done in 2.5 s: out",
        "  documents   1,200 (4.0 MB of text), 3 of them empty; bad records: 2, listed in bad_records/",
        "  pretokens   900,000 (54,321 distinct)",
        "  merges      7,744 in 1 round",
        "  vocabulary  8,000",
        "  tokens      1,000,000 on this corpus: 0.2500 a byte, 4.00 bytes a token",
    ]


def test_what_was_mended_and_what_is_not_nfc_is_told_where_there_is_some():
    lines = list(dataclasses.replace(SUMMARY, bad_records=0, mended_documents=1234, not_nfc_documents=1).lines())
    assert lines[1:3] == [
        "  documents   1,200 (4.0 MB of text), 3 of them empty; mended with U+FFFD: 1,234",
        "  not NFC     1 document is not: --normalize nfc makes equal texts equal tokens",
    ]
    lines = list(dataclasses.replace(SUMMARY, not_nfc_documents=2000).lines())
    assert lines[2] == "  not NFC     2,000 documents are not: --normalize nfc makes equal texts equal tokens"


def test_a_finished_run_says_so():
    again = dataclasses.replace(SUMMARY, already_finished=True)
    assert next(iter(again.lines())) == "This run is finished already: out"


def test_whether_the_vocabulary_was_reached():
    assert SUMMARY.vocabulary_reached
    assert not dataclasses.replace(SUMMARY, vocab_size=7999).vocabulary_reached


def test_resume_and_replace_exclude_each_other():
    with pytest.raises(OptionError) as caught:
        RunMode(resume=True, replace=True)
    assert str(caught.value) == "--resume keeps an earlier run and --replace removes it: give one of them"
