# Each target works from a bare checkout with Python 3.11 or newer and a Rust toolchain: what it needs is installed
# into .venv first, once.

PYTHON ?= python3
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test lint bench wheel worker-venv clean

venv := .venv
python := $(venv)/bin/python
manifest := --manifest-path tokenize_lib/_kernel/Cargo.toml
sample := tests/data/sample/*.*
kernel := $(wildcard tokenize_lib/_kernel/Cargo.*) $(shell find tokenize_lib/_kernel/src -name '*.rs')
packages := $(shell find schemas tokenize_lib pipelines -name '*.py' -o -name '*.pyi' -o -name '*.arrow')
workers := .engines/worker-venv
pip := $(python) -m pip --disable-pip-version-check --quiet

help:
	@echo 'make demo   train on the sample corpus in four languages, count its tokens, price it, and show what came out'
	@echo 'make test   everything that must hold: lint, types, kernel tests, tests'
	@echo 'make engines  install, start, test and stop Flink and Prism: needs Java 17, Maven and Go as well'
	@echo 'make lint   format, lint and types of both languages'
	@echo 'make bench  training and counting beside others on the same documents (CORPUS=DIR for your own)'
	@echo 'make wheel  a wheel in dist/ for any Linux since 2014 (TARGET=aarch64-unknown-linux-gnu for another processor)'
	@echo 'make worker-venv  the wheel and what it needs alone, in $(workers): what a worker of a cluster has'
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

# Zig links against the symbols of an old C library, whatever this machine has: the wheel runs on all workers.
wheel: dist/built$(TARGET:%=-%)

dist/built$(TARGET:%=-%): $(venv)/wheel-tools pyproject.toml README.md LICENSE $(kernel) $(packages)
	@echo 'Building the wheel: some minutes, as no crate is compiled for it yet'
	@$(if $(TARGET),,rm -f dist/*.whl)
	PATH="$(CURDIR)/$(venv)/bin:$$PATH" maturin build --release --locked --zig --compatibility manylinux2014 \
		$(if $(TARGET),--target $(TARGET)) --out dist
	@touch $@

worker-venv: $(workers)/installed

# Beam as the driver has it: the two must be equal.
$(workers)/installed: $(venv)/installed dist/built
	rm -rf $(workers)
	$(PYTHON) -m venv $(workers)
	$(workers)/bin/pip --disable-pip-version-check --quiet install --only-binary=:all: dist/*.whl \
		apache-beam==$$($(python) -c 'from importlib.metadata import version; print(version("apache-beam"))')
	@touch $@

clean:
	rm -rf $(venv) .engines target demo dist $(workers) tokenize_lib/_native.*.so .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

include engines/engines.mk

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

$(venv)/wheel-tools: $(venv)/created
	$(pip) install --group wheel
	@touch $@

$(venv)/installed-%: $(venv)/installed
	@echo 'Installing what $* needs: about a minute, once'
	$(pip) install --group $*
	@touch $@
