# Real engines, installed, started, tested and stopped: Flink in one process and as a cluster, and Prism.
# Needs Java 17, Maven and Go besides what the other targets need.

.PHONY: engines

# Some 700 MB. A folder outside of the checkout serves several, and is not made anew for each.
ENGINES_CACHE ?= .engines

# A test that fails is run once more, and must pass then: engines have limits of time of their own, which a busy machine
# may miss.
engine_tests = ENGINES_CACHE=$(abspath $(ENGINES_CACHE)) $(python) -m pytest --quiet tests/engines

engines: $(venv)/installed-engines
	engines/prepare $(python) $(ENGINES_CACHE)
	$(MAKE) --no-print-directory worker-venv
	$(engine_tests) || { echo 'make engines: once more, what has failed'; $(engine_tests) --last-failed; }
