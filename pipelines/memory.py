"""How ``--memory`` is shared out between what a process holds at a time."""

import dataclasses

PROGRAM_BYTES = 256 << 20
"""What the interpreter, Beam and pyarrow take, and the blocks being read."""
_LEAST = 1 << 12
WORKER_MEMORY = 1 << 30
"""What one worker slot of a cluster may use, unless the user says more: engines give slots at least that."""


@dataclasses.dataclass(frozen=True)
class MemoryShares:
    """Bytes for the tables that grow with the corpus. What outgrows its share goes to files.

    Attributes:
        worker_table: What each worker may collect before it writes it out. Writing takes as much again.
        driver_table: What the driver may hold while it merges; the workers are idle then.
    """

    worker_table: int
    driver_table: int

    @classmethod
    def of(cls, memory: int, workers: int) -> "MemoryShares":
        """Share out `memory` bytes for a process with `workers` workers in it."""
        for_tables = max(memory - PROGRAM_BYTES, memory // 8)
        return cls(
            worker_table=max(for_tables // (3 * workers), _LEAST),
            driver_table=max(for_tables // 2, _LEAST),
        )

    @classmethod
    def of_cluster(cls, memory: int, worker_memory: int | None, *, workers_merge: bool = False) -> "MemoryShares":
        """Share out `memory` bytes of this process, and `worker_memory` bytes of each worker slot elsewhere.

        With `workers_merge` the driver may hold no more than a worker, as either may be the one that merges a round.
        """
        driver, worker = cls.of(memory, 1), cls.of(worker_memory or WORKER_MEMORY, 1)
        return cls(
            worker_table=worker.worker_table,
            driver_table=min(driver.driver_table, worker.driver_table) if workers_merge else driver.driver_table,
        )
