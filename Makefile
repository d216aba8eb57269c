# Each target works from a bare checkout with Python 3.11 or newer and a Rust toolchain: what it needs is installed
# into .venv first, once.

PYTHON ?= python3
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test lint bench clean

venv := .venv
python := $(venv)/bin/python
manifest := --manifest-path tokenize_lib/_kernel/Cargo.toml
sample := tests/data/sample/*.*
kernel := $(wildcard tokenize_lib/_kernel/Cargo.*) $(shell find tokenize_lib/_kernel/src -name '*.rs')
pip := $(python) -m pip --disable-pip-version-check --quiet

help:
	@echo 'make demo   train on the sample corpus in four languages, count its tokens, price it, and show what came out'
	@echo 'make test   everything that must hold: lint, types, kernel tests, tests'
	@echo 'make lint   format, lint and types of both languages'
	@echo 'make bench  training and counting beside others on the same documents (CORPUS=DIR for your own)'
	@echo 'make clean  remove what these made'

demo: $(venv)/installed
	$(venv)/bin/tokenbeam train $(sample) -o demo/tokenizer --replace --vocab-size 2000 --special-token '<|endoftext|>'
	$(venv)/bin/tokenbeam count $(sample) -o demo/counts --replace --tokenizer demo/tokenizer --tokenizer o200k_base
	$(venv)/bin/tokenbeam cost demo/counts --model gpt-4o --model gpt-4o-mini --output-tokens 200
	@ls -d demo/*/*

test: lint
	cargo test --quiet $(manifest)
	$(python) -m pytest --quiet

lint: $(venv)/installed-dev
	$(venv)/bin/ruff format --check --quiet .
	$(venv)/bin/ruff check --quiet .
	$(venv)/bin/mypy
	cargo fmt --check $(manifest)
	cargo clippy --quiet --all-targets $(manifest) -- -D warnings
	cargo clippy --quiet --features extension-module $(manifest) -- -D warnings

bench: $(venv)/installed-bench
	$(python) -m benchmarks $(if $(CORPUS),--corpus $(CORPUS)) $(ARGUMENTS)
	$(python) -m benchmarks.token_counting $(CORPUS)
	$(python) -m benchmarks.count_command $(CORPUS)

clean:
	rm -rf $(venv) target demo tokenize_lib/_native.*.so .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(venv)/created:
	@command -v cargo > /dev/null || { echo 'make: cargo is missing: install a Rust toolchain (1.88 or newer)' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'make: $(PYTHON) is older than Python 3.11: name a newer one with PYTHON=...' >&2; exit 1; }
	@echo 'Making .venv'
	$(PYTHON) -m venv $(venv)
	$(pip) install --upgrade 'pip>=25.1' 'maturin>=1.9,<2'  # the first pip that knows dependency groups
	@touch $@

# Editable: Python code is used as it lies here; the kernel is built again when its sources change. Not in isolation:
# that has another path each time, for which all crates around Python would be compiled anew.
$(venv)/installed: $(venv)/created pyproject.toml $(kernel)
	@echo 'Installing Beam and Arrow, building the kernel: about five minutes the first time, later up to one'
	PATH="$(CURDIR)/$(venv)/bin:$$PATH" $(pip) install --no-build-isolation --editable .
	@touch $@

$(venv)/installed-%: $(venv)/installed
	@echo 'Installing what $* needs: about a minute, once'
	$(pip) install --group $*
	@touch $@
