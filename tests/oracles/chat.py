"""Tokens of a chat, one text after another, as OpenAI's page on counting describes it."""

from tokenize_lib.encodings import load_tokenizer


def chat_tokens(messages, encoding, *, per_message=3, per_name=1):
    count = load_tokenizer(encoding).count
    total = 3
    for message in messages:
        total += per_message + sum(count(text) for text in message.values())
        if "name" in message:
            total += per_name
    return total


def tool_tokens(tools, encoding, *, at_function):
    count = load_tokenizer(encoding).count
    total = 12 if tools else 0
    for tool in tools:
        function = tool["function"]
        total += at_function + count(f"{function['name']}:{function['description'].removesuffix('.')}")
        properties = function["parameters"]["properties"]
        total += 3 if properties else 0
        for name, described in properties.items():
            total += 3
            if "enum" in described:
                total += -3 + sum(3 + count(value) for value in described["enum"])
            total += count(f"{name}:{described['type']}:{described['description'].removesuffix('.')}")
    return total
