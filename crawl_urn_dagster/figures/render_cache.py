"""Cache ticks and fonts while a figure is laid out or rendered, because matplotlib computes them again at every use.

A rendering asks an axis for its ticks up to four times, and looks up the fonts of every text. The files are the same
byte for byte. Does not draw or render (see `style` and `files`).
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from matplotlib.font_manager import fontManager

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


@contextmanager
def cached_ticks(figure: Figure) -> Iterator[None]:
    """Compute the ticks of each axis, and the boxes of their labels, only after the axis has changed."""
    with ExitStack() as stack:
        for axes in figure.axes:
            for axis in (axes.xaxis, axes.yaxis):
                stack.enter_context(_replaced(axis, **_cached_methods(axis)))
        yield


@contextmanager
def cached_fonts() -> Iterator[None]:
    """Look up each font once; font settings must not change inside the block."""
    with _replaced(fontManager, _find_fonts_by_props=cache(fontManager._find_fonts_by_props)):
        yield


def _cached_methods(axis: Axis) -> dict[str, Callable[..., object]]:
    """Return cached versions of the private methods that compute ticks and their boxes."""
    compute_ticks, compute_boxes = axis._update_ticks, axis._get_ticklabel_bboxes  # type: ignore[attr-defined]
    ticks_of: dict[tuple[float, ...], list[Any]] = {}
    boxes_of: dict[tuple[float, ...], tuple[object, object, Any]] = {}

    def state() -> tuple[float, ...]:
        return (*axis.axes.bbox.bounds, *axis.get_view_interval(), axis.axes.figure.dpi)

    def ticks() -> list[Any]:
        now = state()
        if now not in ticks_of:
            ticks_of.clear()
            boxes_of.clear()
            ticks_of[now] = compute_ticks()
        return ticks_of[now]

    def boxes(some: list[Any], renderer: object = None) -> Any:
        now = state()
        known = boxes_of.get(now)
        if known is None or known[0] is not some or known[1] is not renderer:
            boxes_of[now] = known = some, renderer, compute_boxes(some, renderer)
        return known[2]

    return {"_update_ticks": ticks, "_get_ticklabel_bboxes": boxes}


@contextmanager
def _replaced(target: object, **methods: Callable[..., object]) -> Iterator[None]:
    """Replace methods of one object, not of its class."""
    attributes = vars(target)
    earlier = {name: attributes[name] for name in methods if name in attributes}
    attributes.update(methods)
    try:
        yield
    finally:
        for name in methods:
            del attributes[name]
        attributes.update(earlier)
