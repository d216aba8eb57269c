# ruff: noqa: E501
import json
import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.chat import chat_tokens, tool_tokens
from tokenize_lib.chat import ChatReader, CountedAs
from tokenize_lib.encodings import load_tokenizer

JARGON = [
    {
        "role": "system",
        "content": "You are a helpful, pattern-following assistant that translates corporate jargon into plain English.",
    },
    {"role": "system", "name": "example_user", "content": "New synergies will help drive top-line growth."},
    {"role": "system", "name": "example_assistant", "content": "Things working well together will increase revenue."},
    {
        "role": "system",
        "name": "example_user",
        "content": "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage.",
    },
    {
        "role": "system",
        "name": "example_assistant",
        "content": "Let's talk later when we're less busy about how to do better.",
    },
    {
        "role": "user",
        "content": "This late pivot means we don't have time to boil the ocean for the client deliverable.",
    },
]
WEATHER = [
    {"role": "system", "content": "You are a helpful assistant that can answer to questions about the weather."},
    {"role": "user", "content": "What's the weather like in San Francisco?"},
]
WEATHER_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_current_weather",
            "description": "Get the current weather in a given location",
            "parameters": {
                "type": "object",
                "properties": {
                    "location": {"type": "string", "description": "The city and state, e.g. San Francisco, CA"},
                    "unit": {
                        "type": "string",
                        "description": "The unit of temperature to return",
                        "enum": ["celsius", "fahrenheit"],
                    },
                },
                "required": ["location"],
            },
        },
    }
]
"""These three and their figures: "How to count tokens with tiktoken" of OpenAI's cookbook, as its API answered."""

ENCODING = {"gpt-4o": "o200k_base", "gpt-4o-mini": "o200k_base", "o200k_base": "o200k_base", "gpt-5": "o200k_base"}


def read(records, *specs):
    lines = [record if isinstance(record, str | bytes) else json.dumps(record) for record in records]
    binary = [line if isinstance(line, bytes) else line.encode("utf-8") for line in lines]
    return ChatReader([CountedAs.of(spec) for spec in specs]).read(pa.array(binary, pa.binary()))


def counts(chats, spec):
    return load_tokenizer(ENCODING.get(spec, "cl100k_base")).count(chats.texts)


def tokens(records, spec):
    """Tokens of each chat, and whether they are an estimate."""
    chats = read(records, spec)
    assert chats.bad == []
    return list(zip(chats.tokens(0, counts(chats, spec)).tolist(), chats.estimated(0).tolist(), strict=True))


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("gpt-3.5-turbo-0301", 127),
        ("gpt-3.5-turbo-0613", 129),
        ("gpt-3.5-turbo", 129),
        ("gpt-4-0314", 129),
        ("gpt-4-0613", 129),
        ("gpt-4", 129),
        ("gpt-4o", 124),
        ("gpt-4o-mini", 124),
        ("o200k_base", 124),
        ("cl100k_base", 129),
    ],
)
def test_the_cookbooks_messages(model, found):
    assert tokens([{"messages": JARGON}], model) == [(found, False)]


@pytest.mark.parametrize(
    ("model", "found"), [("gpt-3.5-turbo", 105), ("gpt-4", 105), ("gpt-4o", 101), ("gpt-4o-mini", 101)]
)
def test_the_cookbooks_tools(model, found):
    assert tokens([{"messages": WEATHER, "tools": WEATHER_TOOLS}], model) == [(found, False)]


def test_functions_count_as_the_tools_that_replaced_them():
    functions = [tool["function"] for tool in WEATHER_TOOLS]
    assert tokens([{"messages": WEATHER, "functions": functions}], "gpt-4o") == [(101, False)]


def test_a_small_chat_text_by_text():
    messages = [
        {"role": "system", "content": "You are a helpful assistant."},  # 3 + 1 + 6
        {"role": "user", "content": "Hello, how are you?"},  # 3 + 1 + 6
    ]  # and 3 with which the reply begins
    assert tokens([{"messages": messages}], "gpt-4o") == [(23, False)]


short = st.text(st.characters(codec="utf-8"), max_size=12)
message = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "developer"]), "content": short}, optional={"name": short}
)
described = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "number"]), "description": st.sampled_from(["a", "b.", "c d.."])},
    optional={"enum": st.lists(short, max_size=3)},
)
tool = st.builds(
    lambda name, description, properties: {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": {"properties": properties}},
    },
    short,
    st.sampled_from(["", ".", "Does it.", "Tut es"]),
    st.dictionaries(short, described, max_size=3),
)
chat = st.tuples(st.lists(message, min_size=1, max_size=4), st.lists(tool, max_size=2), st.booleans())


@given(st.lists(chat, max_size=6))
def test_a_batch_of_chats_one_by_one(made):
    records = []
    for messages, tools, batch in made:
        request = {"messages": messages, **({"tools": tools} if tools else {})}
        records += [{"custom_id": "x", "method": "POST", "body": request} if batch else request, " \t"]
    chats = read(records, "gpt-4o", "gpt-4", "gpt-3.5-turbo-0301")
    assert chats.rows.tolist() == list(range(0, len(records), 2))
    for column, (encoding, at_function) in enumerate([("o200k_base", 7), ("cl100k_base", 10)]):
        assert chats.tokens(column, counts(chats, ["gpt-4o", "gpt-4"][column])).tolist() == [
            chat_tokens(messages, encoding) + tool_tokens(tools, encoding, at_function=at_function)
            for messages, tools, _ in made
        ]
        assert not chats.estimated(column).any()
    assert chats.estimated(2).tolist() == [bool(tools) for _, tools, _ in made]
    assert chats.messages.tolist() == [len(messages) for messages, _, _ in made]
    count = load_tokenizer("cl100k_base").count
    assert chats.tokens(2, counts(chats, "gpt-4")).tolist() == [
        chat_tokens(messages, "cl100k_base", per_message=4, per_name=-1)
        + (count(json.dumps(tools, separators=(",", ":"), ensure_ascii=False)) if tools else 0)
        for messages, tools, _ in made
    ]


def test_a_batch_file_is_counted_by_the_model_it_names_if_an_encoding_was_asked_for():
    records = [{"custom_id": str(n), "body": {"model": model, "messages": JARGON}} for n, model in
               enumerate(["gpt-3.5-turbo-0301", "gpt-4", "gpt-4o", "gpt-4-0613"])]  # fmt: skip
    chats = read(records, "cl100k_base", "gpt-4")
    assert chats.models.to_pylist() == ["gpt-3.5-turbo-0301", "gpt-4", "gpt-4o", "gpt-4-0613"]
    assert chats.custom_ids.to_pylist() == ["0", "1", "2", "3"]
    assert chats.tokens(0, counts(chats, "gpt-4")).tolist() == [127, 129, 129, 129]
    assert chats.tokens(1, counts(chats, "gpt-4")).tolist() == [129, 129, 129, 129]


def test_models_without_published_figures_are_estimates():
    assert tokens([{"messages": JARGON}], "gpt-5") == [(124, True)]
    in_batch = {"body": {"model": "gpt-5", "messages": JARGON}}
    assert tokens([in_batch], "o200k_base") == [(124, True)]
    assert tokens([in_batch], "gpt-4o") == [(124, False)]


def test_units_count_the_texts_alone():
    chats = read([{"messages": [{"role": "user", "content": "abc"}]}], "chars")
    lengths = pa.array([len(text) for text in chats.texts.to_pylist()], pa.int64())
    assert chats.tokens(0, lengths).tolist() == [4 + 3]
    assert chats.content_sizes(lengths).tolist() == [3]


PARTS = [
    {"type": "text", "text": "What is this?"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
]


def test_parts_are_counted_and_images_are_not():
    one_text = {"messages": [{"role": "user", "content": PARTS[:1]}]}
    chats = read([one_text, {"messages": [{"role": "user", "content": PARTS}]}], "gpt-4o")
    plain = tokens([{"messages": [{"role": "user", "content": "What is this?"}]}], "gpt-4o")[0][0]
    assert chats.tokens(0, counts(chats, "gpt-4o")).tolist() == [plain, plain]
    assert chats.images.tolist() == [0, 1]
    assert chats.estimated(0).tolist() == [False, True]
    assert "base64" not in str(chats.texts)


def test_calls_and_formats_are_counted_as_their_json_and_are_estimates():
    calls = [{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]
    messages = [
        {"role": "user", "content": "Do it."},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "call_1", "content": "done"},
    ]
    count = load_tokenizer("o200k_base").count
    texts = ["user", "Do it.", "assistant", json.dumps(calls, separators=(",", ":")), "tool", "call_1", "done"]
    assert tokens([{"messages": messages}], "gpt-4o") == [(sum(map(count, texts)) + 3 * 3 + 3, True)]
    schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}
    plain = {"messages": messages[:1]}
    [(with_schema, estimate)] = tokens([{**plain, "response_format": schema}], "gpt-4o")
    assert estimate
    assert with_schema == tokens([plain], "gpt-4o")[0][0] + count(json.dumps(schema, separators=(",", ":")))


@pytest.mark.parametrize(
    "function",
    [
        {"name": "f"},
        {"name": "f", "description": "d"},
        {"name": "f", "description": "d", "parameters": {"properties": {"a": {"type": "string"}}}},
        {
            "name": "f",
            "description": "d",
            "parameters": {"properties": {"a": {"type": ["string"], "description": "x"}}},
        },
        {
            "name": "f",
            "description": "d",
            "parameters": {"properties": {"a": {"type": "object", "description": "x", "properties": {}}}},
        },
        {
            "name": "f",
            "description": "d",
            "parameters": {"properties": {"a": {"type": "n", "description": "x", "enum": [1]}}},
        },
    ],
)
def test_tools_that_the_rule_does_not_know_are_counted_as_their_json(function):
    tools = [{"type": "function", "function": function}]
    count = load_tokenizer("o200k_base").count
    expected = chat_tokens(WEATHER, "o200k_base") + count(json.dumps(tools, separators=(",", ":")))
    assert tokens([{"messages": WEATHER, "tools": tools}], "gpt-4o") == [(expected, True)]
    assert tokens([{"messages": WEATHER, "tools": [{"type": "web_search"}]}], "gpt-4o")[0][1]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ("{", "no chat: Input data was truncated"),
        ("nonsense", "no chat: JSON is malformed: invalid character (byte 4)"),
        (b'{"messages": [{"role": "user", "content": "\xff"}]}', "no chat: Invalid UTF-8 encoded string"),
        (r'{"messages": [{"role": "user", "content": "a\ud800b"}]}', "no chat: it has a lone surrogate"),
        (r'{"messages": [{"role": "user", "content": "a\\\udc00"}]}', "no chat: it has a lone surrogate"),
        (r'{"messages": [{"role": 3, "content": "\\ud800 \ud83d\ude00"}]}', "no chat: Expected `str`, got `int`"),
        ("[]", "no chat: Expected `object`, got `array`"),
        ({"text": "x"}, "no chat: it has neither messages nor body.messages"),
        ({"body": {"input": "x"}}, "no chat: it has neither messages nor body.messages"),
        ({"body": 3}, "no chat: Expected `object`, got `int`"),
        ({"messages": []}, "no chat: messages is empty"),
        ({"messages": None}, "no chat: it has neither messages nor body.messages"),
        ({"messages": ["x"]}, "no chat: Expected `object`, got `str` - at `$.messages[0]`"),
        ({"messages": [{"content": "x"}]}, "no chat: Object missing required field `role` - at `$.messages[0]`"),
        ({"messages": [{"role": "user"}]}, "no chat: messages[0] has no content"),
        ({"messages": [{"role": "user", "content": 3}]}, "no chat: Expected `str | array | null`, got `int`"),
        ({"messages": [{"role": "user", "content": [3]}]}, "no chat: messages[0].content[0] is no object"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
            "no chat: messages[0].content[0], of type 'text', has no text",
        ),
        ("[" * 100_000, "no chat: "),
    ],
)
def test_what_is_no_chat_is_set_aside_with_its_reason(record, reason):
    good = {"messages": [{"role": "user", "content": "x"}]}
    chats = read([good, record, good], "gpt-4o")
    [(row, said)] = chats.bad
    assert (row, chats.rows.tolist()) == (1, [0, 2])
    assert said.startswith(reason)
    assert "\n" not in said


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view()])
def test_records_of_every_kind_and_none(kind):
    reader = pickle.loads(pickle.dumps(ChatReader([CountedAs.of("gpt-4o")])))  # noqa: S301
    chats = reader.read(pa.array(['{"messages": [{"role": "user", "content": "x"}]}'], pa.string()).cast(kind))
    assert chats.texts.to_pylist() == ["user", "x"]
    none = reader.read(pa.array([], kind))
    assert (len(none), none.tokens(0, np.zeros(0, np.int64)).tolist(), none.estimated(0).tolist()) == (0, [], [])
