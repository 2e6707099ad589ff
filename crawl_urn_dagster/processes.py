"""Call functions for independent arguments in this process and in others, where the environment allows it.

Does not decide what is independent.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import threading
from collections import deque
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_Result = TypeVar("_Result")

#: Environment variable with the number of processes. It is set by the command, not by default, because a new process
#: imports the main module again, which in a script without a guard would run the script again.
PROCESSES = "CRAWL_URN_PROCESSES"
# A process takes two seconds to start, which fewer calls do not make up for.
_FEWEST_CALLS = 8

_pool: ProcessPoolExecutor | None = None


def start_ahead(*modules: str) -> None:
    """Start the other processes and import modules there, while this process still does something else.

    Parameters
    ----------
    modules
        Names of modules that later calls need.
    """
    n_others = _number() - 1
    if n_others > 0:
        pool = _started()
        for _ in range(n_others):
            pool.submit(_import, modules)


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
    return call_together([(function, some) for some in arguments])


def call_together(calls: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]]) -> list[Any]:
    """Return the results of several functions, each with its arguments, in order; otherwise as `call_each`.

    The other processes take calls from the beginning, and this process takes them from the end.

    Examples
    --------
    >>> call_together([(max, (1, 3)), (min, (4, 2))])
    [3, 2]
    """
    n_others = min(_number(), len(calls)) - 1
    if n_others < 1 or (_pool is None and len(calls) < _FEWEST_CALLS):
        return [function(*some) for function, some in calls]
    pool, waiting, results = _started(), deque(range(len(calls))), [None] * len(calls)

    def pass_on(at: int | None) -> None:
        while at is not None:
            function, some = calls[at]
            results[at] = pool.submit(function, *some).result()
            at = _taken(waiting.popleft)

    with ThreadPoolExecutor(n_others) as threads:
        others = [threads.submit(pass_on, waiting.popleft()) for _ in range(n_others)]
        try:
            while (at := _taken(waiting.pop)) is not None:
                function, some = calls[at]
                results[at] = function(*some)
            for other in others:
                other.result()
        except BaseException as error:
            waiting.clear()
            if isinstance(error, BrokenProcessPool):
                _forget()
            raise
    return results


def _taken(take: Callable[[], int]) -> int | None:
    """Return the next call; None if another thread took the last one."""
    try:
        return take()
    except IndexError:
        return None


def _number() -> int:
    return int(os.environ.get(PROCESSES, "1"))


def _started() -> ProcessPoolExecutor:
    global _pool  # noqa: PLW0603 - processes are kept until the command ends, because each takes two seconds to start
    if _pool is None:
        context = multiprocessing.get_context("spawn")
        _pool = ProcessPoolExecutor(_number() - 1, context, initializer=_start)
    return _pool


def _forget() -> None:
    """Start new processes at the next call, after one of them ended unexpectedly."""
    global _pool  # noqa: PLW0603
    _pool = None


def _start() -> None:
    """Leave interrupts to the process that waits, end with it, and do not start threads, which only wait."""
    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ[PROCESSES] = "1"
    threadpool_limits(limits=1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Exit when the parent does, also if it was killed and could not stop this process."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _import(modules: Sequence[str]) -> None:
    for name in modules:
        importlib.import_module(name)
