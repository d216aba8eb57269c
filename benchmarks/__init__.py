"""How fast ``tokenbeam train`` is beside other trainers, in one run on one machine: ``python -m benchmarks``."""
