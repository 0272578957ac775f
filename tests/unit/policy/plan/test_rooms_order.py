"""The order in which a View offers its nodes, kept while they change, is that of sorting them anew."""

import random

from hpcbatch.policy.plan.estate import Spot
from hpcbatch.policy.plan.rooms import View
from hpcbatch.policy.plan.snapshot import Node


def test_the_fullest_first_however_they_change() -> None:
    dice = random.Random(16)
    spots = [Spot("", Node(name=f"n{number:02}", has={}), (8,)) for number in range(40)]
    view = View({spot: dice.randrange(1, 5) for spot in spots[:30]}, 0)
    assert len(list(view.fullest())) == 30
    for _ in range(500):
        view.put(dice.choice(spots), dice.randrange(4))
        wanted = sorted(view.fits, key=lambda spot: (view.fits[spot], spot.name))
        assert list(view.fullest()) == wanted
        assert view.total == sum(view.fits.values())


def test_nodes_of_one_name_do_not_meet() -> None:
    """A node that came back is another spot, while the old one may still be there for a moment."""
    old, new = (Spot("", Node(name="n", has={}), (2,)) for _ in range(2))
    view = View({old: 2, new: 2}, 0)
    assert set(view.fullest()) == {old, new}
    view.put(old, 0)
    assert list(view.fullest()) == [new]
