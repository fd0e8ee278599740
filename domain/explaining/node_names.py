"""Many names of nodes in few words: runs of numbers as one."""

import re
from collections.abc import Iterable

_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)", re.DOTALL)


def compressed(names: Iterable[str]) -> tuple[str, ...]:
    """`names`, in their order, those that follow on each other as one: `gpu-[000-005]`, `n[8-10].east`."""
    runs: list[_Run] = []
    for name in names:
        if not runs or not runs[-1].goes_on_with(name):
            runs.append(_Run(name))
    return tuple(run.text for run in runs)


class _Run:
    """Names that differ in their last number only, each one more than the one before."""

    def __init__(self, first: str) -> None:
        self._first = self._last = first

    def goes_on_with(self, name: str) -> bool:
        """Take `name` in if it is the next one."""
        last = _NUMBERED.fullmatch(self._last)
        follows = last is not None and name == _next(last)
        if follows:
            self._last = name
        return follows

    @property
    def text(self) -> str:
        """What stands for all of them."""
        if self._first == self._last:
            return self._first
        first, last = _NUMBERED.fullmatch(self._first), _NUMBERED.fullmatch(self._last)
        assert first is not None
        assert last is not None
        return f"{first[1]}[{first[2]}-{last[2]}]{first[3]}"


def _next(name: re.Match[str]) -> str:
    return f"{name[1]}{str(int(name[2]) + 1).zfill(len(name[2]))}{name[3]}"
