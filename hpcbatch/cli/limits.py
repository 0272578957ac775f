"""The submitter's limits of processes, which a job may be asked to have, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


class SoftLimits(Mapping[str, int]):
    """This process's soft limits by the names of setrlimit(2) in lower case; below 0: none. Read when asked for."""

    def __getitem__(self, name: str) -> int:
        import resource

        try:
            return resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))[0]
        except AttributeError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        import resource

        return (name.removeprefix("RLIMIT_").lower() for name in dir(resource) if name.startswith("RLIMIT_"))

    def __len__(self) -> int:
        return sum(1 for _ in self)
