"""Vocabularies as other programs' files: Hugging Face's ``tokenizer.json`` and tiktoken's ranks."""
