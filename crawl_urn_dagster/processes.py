"""Call a function for independent arguments in several processes, where the environment allows it.

Does not decide what is independent.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_Result = TypeVar("_Result")

#: Environment variable with the number of processes. It is set by the command, not by default, because a new process
#: imports the main module again, which in a script without a guard would run the script again.
PROCESSES = "CRAWL_URN_PROCESSES"
# A process takes two seconds to start, which fewer calls do not make up for.
_FEWEST_CALLS = 8


def call_each(function: Callable[..., _Result], arguments: Sequence[tuple[Any, ...]]) -> list[_Result]:
    """Return the results of a function for each tuple of arguments, in order.

    Parameters
    ----------
    function
        A function of a module, which a new process can import.
    arguments
        Arguments of each call, which can be pickled.

    Examples
    --------
    >>> call_each(max, [(1, 3), (4, 2)])
    [3, 4]
    """
    processes = int(os.environ.get(PROCESSES, "1"))
    if processes < 2 or len(arguments) < _FEWEST_CALLS:
        return [function(*some) for some in arguments]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, initializer=_start) as pool:
        return list(pool.map(function, *zip(*arguments, strict=True)))


def _start() -> None:
    """Leave interrupts to the process that waits, and do not start threads, which would wait for each other."""
    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(limits=1)
