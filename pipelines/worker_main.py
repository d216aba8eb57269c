"""``python -m pipelines.worker_main``: a worker process of Beam's that ends when the one that started it has ended.

Beam's own waits for ever for a driver that was killed, and holds its memory.
"""

import os
import sys
import threading
import time

from apache_beam.runners.worker import sdk_worker_main

_LOOK_SECONDS = 0.5


def end_with(driver: int) -> None:
    """End this process at once when `driver` is no longer its parent."""

    def watch() -> None:
        while os.getppid() == driver:
            time.sleep(_LOOK_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="driver-watch", daemon=True).start()


if __name__ == "__main__":
    # The driver's number comes by argument: it may be gone before this line is reached.
    end_with(int(sys.argv[1]))
    sdk_worker_main.main([sys.argv[0], *sys.argv[2:]])
