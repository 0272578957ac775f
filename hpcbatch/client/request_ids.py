"""Random names for objects, and for requests to the controller."""

from __future__ import annotations

import os

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # Kubernetes' own letters: no vowels, so no words


def random_id(length: int = 16) -> str:
    # 10 of these letters are 47 bits. The remainder prefers some letters a little, which does no harm.
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in os.urandom(length))
