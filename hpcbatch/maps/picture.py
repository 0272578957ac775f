"""Pictures from figures: PNG with a palette, a third of the size, and GIF."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

DPI: Final = 110
Drawn = Image.Image
_FRAME_MS = 700


def save(figure: Figure, path: Path) -> Drawn:
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    width, height = canvas.get_width_height()
    pixels = bytes(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
    drawn = Image.frombuffer("RGBA", (width, height), pixels).convert("RGB")
    picture = drawn.quantize(256, dither=Image.Dither.NONE)
    picture.save(path, optimize=True)
    return picture


def animate(pictures: list[Drawn], path: Path) -> None:
    """All pictures with one palette, that of the last, so that no colour flickers."""
    palette = pictures[-1]
    frames = [
        each if each is palette else each.convert("RGB").quantize(palette=palette, dither=Image.Dither.NONE)
        for each in pictures
    ]
    first, *others = frames
    first.save(path, save_all=True, append_images=others, duration=_FRAME_MS, loop=0)
