"""Pictures from figures: PNG with a palette, a third of the size, and GIF."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

DPI: Final = 110
_FRAME_MS = 700


def save(figure: Figure, path: Path) -> tuple[int, int]:
    """Its width and height."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    width, height = canvas.get_width_height()
    pixels = bytes(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
    drawn = Image.frombuffer("RGBA", (width, height), pixels).convert("RGB")
    picture = drawn.quantize(256, dither=Image.Dither.NONE)
    picture.save(path, optimize=True)
    return width, height


def animate(pictures: Sequence[Path], path: Path) -> None:
    """All pictures with one palette, that of the last, so that no colour flickers."""
    with Image.open(pictures[-1]) as last:
        palette = last.copy()

    def frames() -> Iterator[Image.Image]:
        for picture in pictures:
            with Image.open(picture) as each:
                yield each.convert("RGB").quantize(palette=palette, dither=Image.Dither.NONE)

    every = frames()
    next(every).save(path, save_all=True, append_images=every, duration=_FRAME_MS, loop=0)
