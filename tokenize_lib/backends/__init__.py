"""What runs a tokenizer: one module a backend, each imported when a tokenizer needs it."""
