"""The table that the runner's `module` reads. What it does by it: tests/component/test_modules.py."""

from __future__ import annotations

from hpcbatch.model.site import SiteModule
from hpcbatch.volcano.modules import module_table


def test_the_table() -> None:
    modules = (
        SiteModule(name="a*"),
        SiteModule(name="b", image="i:1"),
        SiteModule(name="c", image="i:2"),
        SiteModule(name="d", environment={"X": "some text", "E": ""}, prepend_path={"PATH": ("/1", "/2")}),
    )
    assert module_table(modules, "i:1").splitlines() == [
        "a*\tnothing\t-\t",
        "b\timage\tyes\ti:1",
        "c\timage\tno\ti:2",
        "d\tset\tX\tsome text",
        "d\tset\tE\t",
        "d\tprepend\tPATH\t/2",
        "d\tprepend\tPATH\t/1",
    ]
    assert module_table((), "i:1") == ""
