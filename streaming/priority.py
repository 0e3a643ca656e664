"""Which threads of a live session go first when there are too few cores for all.

The event loop does little, but everything waits for it; hearing comes next, because sound cannot be
left out as pictures can.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading

STEPS_BACK: dict[str, int] = {"seeing": 5}
"""By stage: how far its thread stands behind the others, as ``nice`` counts.

Few enough that it still gets a third of a core beside one thread that goes first: it may hold
Python's lock, for which that one then waits.
"""


def step_back(steps: int) -> None:
    """Let the process's other threads go before the calling one; its own threads inherit that.

    Does nothing where threads have no priority of their own (other systems than Linux).
    """
    if steps > 0 and sys.platform == "linux":
        thread = threading.get_native_id()
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + steps)
