"""The site's table of modules, in the format of the runner's `module` (runner/modules/module.sh)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hpcbatch.model.site import SiteModule


def module_table(modules: Sequence[SiteModule], image: str) -> str:
    """One line per effect, `NAME TAB KIND TAB VARIABLE TAB VALUE`; `image` is the job's image."""
    return "".join(f"{module.name}\t{row}\n" for module in modules for row in _rows(module, image))


def _rows(module: SiteModule, image: str) -> Iterator[str]:
    if module.image is not None:
        yield f"image\t{'yes' if module.image == image else 'no'}\t{module.image}"
    for name, value in module.environment.items():
        yield f"set\t{name}\t{value}"
    for name, directories in module.prepend_path.items():
        for directory in reversed(directories):  # each is put in front of the ones before
            yield f"prepend\t{name}\t{directory}"
    if module.image is None and not module.environment and not module.prepend_path:
        yield "nothing\t-\t"
