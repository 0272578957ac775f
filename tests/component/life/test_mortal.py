"""A part of the engine may die at any time, also while it starts."""

import random
import threading

from tests.component.life.mortal import Fate, Succession
from tests.waiting import wait_for


class DiesWhileItStarts:
    """As a controller of which one informer has died: its start waits for that one, and no write follows."""

    def __init__(self, fate: Fate) -> None:
        self._fate = fate

    def start(self) -> None:
        self._fate.kill()
        threading.Event().wait()

    def stop(self) -> None:
        raise AssertionError("it had not started")


class Lives:
    def __init__(self) -> None:
        self.is_stopped = threading.Event()

    def start(self) -> None:
        pass

    def stop(self) -> None:
        self.is_stopped.set()


def test_a_death_during_the_start_is_followed_by_the_next_process() -> None:
    lives = Lives()
    made: list[Fate] = []

    def make(fate: Fate) -> DiesWhileItStarts | Lives:
        made.append(fate)
        return DiesWhileItStarts(fate) if len(made) == 1 else lives

    parts = Succession(random.Random(1), make, kills=1)
    parts.start()
    wait_for("the next process", lambda: parts.is_immortal, 20)
    parts.stop()
    assert len(made) == 2
    assert lives.is_stopped.is_set()
