"""One look for every picture, and a refusal beforehand where it could not be drawn."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gibbsafe._extras import require_extra
from gibbsafe._files import require_free, write_whole
from gibbsafe.errors import GibbsafeError

__all__ = ["figure", "panels", "require_picture"]


def require_picture(path: Path | str, *, force: bool = False, inputs: Iterable[Path | str] = ()) -> None:
    """Refuse, before any work is done, a picture that could not be drawn or written: no matplotlib, no such format, no place."""
    target = Path(path)
    require_extra("plots", f"{target}: a picture")
    from matplotlib.backend_bases import FigureCanvasBase

    require_free(target, force=force, inputs=inputs)
    known = FigureCanvasBase.get_supported_filetypes()
    if target.suffix.lstrip(".").lower() not in {"", *known}:
        raise GibbsafeError(f"{target}: no picture ends in {target.suffix}; name it .png, .pdf or .svg")


@contextmanager
def figure(
    path: Path | str, x_label: str, y_label: str, *, width: float = 6.4, height: float = 4.0, force: bool = False
) -> Iterator[Any]:
    """Yield axes to draw on and write the picture as `panels` does."""
    with panels(path, 1, 1, width=width, height=height, force=force) as axes:
        axes[0, 0].set_xlabel(x_label)
        axes[0, 0].set_ylabel(y_label)
        yield axes[0, 0]


@contextmanager
def panels(
    path: Path | str, rows: int, columns: int, *, width: float = 10.0, height: float = 4.0, force: bool = False
) -> Iterator[Any]:
    """Yield an array of axes to draw on and write the picture to ``path``, whole or not at all.

    An existing file is kept unless ``force`` says otherwise: of two pictures written at once to one path one is refused.
    """
    target = Path(path)
    require_extra("plots", f"{target}: a picture")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(drawing)
    axes = drawing.subplots(rows, columns, squeeze=False)
    for each in axes.flat:
        each.spines[["top", "right"]].set_visible(False)
    yield axes
    buffer = io.BytesIO()
    try:
        drawing.savefig(buffer, dpi=160, format=target.suffix.lstrip(".") or "png")
    except ValueError as error:
        raise GibbsafeError(f"{target}: {error}") from error
    write_whole(target, buffer.getvalue(), force=force)
