from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokenize_lib.errors import InputError, OptionError
from tokenize_lib.request_tokens import RequestShape, RequestSums, RequestTokens, tokens_of_requests

counts = st.lists(st.one_of(st.integers(0, 2**53), st.integers(0, 1000)), max_size=20)
shares = st.decimals(0, 1, places=9)


def array(*values):
    return np.array(values, dtype=np.int64)


@given(documents=counts, prompt=st.integers(0, 10_000), share=shares, ratio=st.decimals(0, 100, places=6))
def test_requests_one_by_one(documents, prompt, share, ratio):
    shape = RequestShape(prompt_tokens=prompt, output_ratio=ratio, cached_share=share)
    found = tokens_of_requests(array(*documents), shape)
    assert found.input.tolist() == [n + prompt for n in documents]
    assert found.cached.tolist() == [int((n + prompt) * Fraction(share)) for n in documents]
    assert found.output.tolist() == [int(n * Fraction(ratio) + Fraction(1, 2)) for n in documents]
    assert {found.input.dtype, found.cached.dtype, found.output.dtype} == {np.dtype(np.int64)}


def test_output_is_rounded_with_a_half_up_and_cached_input_down():
    found = tokens_of_requests(array(1, 3, 5), RequestShape(output_ratio=Decimal("0.5"), cached_share=Decimal("0.5")))
    assert found.output.tolist() == [1, 2, 3]
    assert found.cached.tolist() == [0, 1, 2]


def test_output_of_a_field():
    found = tokens_of_requests(array(1, 2), RequestShape(output_field="answer"), array(7, 9))
    assert found.output.tolist() == [7, 9]


@given(
    requests=st.lists(
        st.tuples(st.integers(0, 3), st.one_of(st.integers(0, 400), st.sampled_from([128, 129, 200, 201]))), max_size=50
    ),
    cut=st.integers(0, 50),
)
@example(requests=[(2, 0), (3, 0)], cut=1)  # more groups by one than room for them
def test_sums_by_group_and_tier_do_not_depend_on_batches(requests, cut):
    thresholds = [128, 200]
    expected = np.zeros((4, 3, 4), dtype=np.int64)
    for group, tokens in requests:
        tier = sum(tokens > threshold for threshold in thresholds)
        expected[group, tier] += array(1, tokens, tokens // 2, 3)
    sums = RequestSums(thresholds)
    for batch in (requests[:cut], requests[cut:]):
        tokens = array(*(t for _, t in batch))
        found = RequestTokens(tokens, tokens // 2, np.full_like(tokens, 3))
        sums.add(found, array(*(g for g, _ in batch)), max((g for g, _ in batch), default=-1) + 1)
    groups = max((group for group, _ in requests), default=-1) + 1
    assert sums.values.tolist() == expected[:groups].tolist()


def test_sums_beyond_64_bits_are_an_error():
    big = array(2**62, 2**62 - 1)
    sums = RequestSums([])
    sums.add(RequestTokens(big, array(0, 0), array(0, 0)), array(0, 0), 1)
    assert sums.values[0, 0, 1] == 2**63 - 1
    one = RequestTokens(array(1), array(0), array(0))
    with pytest.raises(InputError, match="9223372036854775808 tokens, more than 64 bits hold"):
        sums.add(one, array(0), 1)


def test_documents_beyond_64_bits_are_an_error():
    with pytest.raises(InputError, match="with its prompt that is more than 64 bits hold"):
        tokens_of_requests(array(2**63 - 1), RequestShape(prompt_tokens=1))
    with pytest.raises(InputError, match="more than 64 bits hold"):
        tokens_of_requests(array(2**62), RequestShape(output_ratio=Decimal(3)))


@pytest.mark.parametrize(
    ("given_options", "said"),
    [
        ({"prompt_tokens": -1}, "--prompt-tokens -1 is not a number of tokens from 0 on"),
        ({"output_tokens": -5}, "--output-tokens -5 is not a number of tokens from 0 on"),
        ({"output_ratio": Decimal("-0.1")}, "--output-ratio -0.1 is not from 0 to 1,000,000"),
        ({"output_ratio": Decimal("nan")}, "--output-ratio NaN is not from 0 to 1,000,000"),
        ({"cached_share": Decimal("1.01")}, "--cached-share 1.01 is not from 0 to 1"),
        ({"cached_share": Decimal("0.1234567891")}, "--cached-share 0.1234567891 has more than 9 decimal places"),
        (
            {"output_tokens": 1, "output_field": "f"},
            "--output-tokens and --output-field both say how long the output is: give one of them",
        ),
    ],
)
def test_options_out_of_range(given_options, said):
    with pytest.raises(OptionError) as caught:
        RequestShape(**given_options)
    assert str(caught.value) == said
