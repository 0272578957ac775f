"""The licences that jobs hold."""

from __future__ import annotations

from collections import Counter

from hpcbatch.api.port import Api
from hpcbatch.client.listing import list_objects


def held_licenses(api: Api, namespace: str) -> Counter[str]:
    """How many licences of each name the visible jobs hold: a job has them from the time that it has a Volcano Job."""
    held: Counter[str] = Counter()
    for obj in list_objects(api, namespace, finished=False):
        if obj["status"].get("volcanoJob"):
            held.update(obj["status"].get("licenses") or {})
    return held
