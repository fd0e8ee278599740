"""Trying candidates, and finding the smallest one of a kind."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from domain.whathelps.changes import Candidate, Edit, Proved

T = TypeVar("T")


class Fork(Protocol):
    """Makes edits on a fork and lets it go on; whom that evicts if the object starts, else None.

    None also where the edits are refused. Raises CutOff when the search has to end.
    """

    def __call__(self, edits: Sequence[Edit]) -> tuple[str, ...] | None: ...


class Prover:
    """Tries candidates on forks, each between the edits `before` and `after`.

    `in_vain` are those that did not help, in order. Where nothing of a kind does, they are the most
    that it could do.
    """

    def __init__(self, fork: Fork, before: Sequence[Edit] = (), after: Sequence[Edit] = ()) -> None:
        self._fork = fork
        self._before = before
        self._after = after
        self.in_vain: list[Candidate] = []

    def prove(self, candidate: Candidate) -> Proved | None:
        """`candidate`, if the object starts with it."""
        evicted = self._fork((*self._before, *candidate.edits, *self._after))
        if evicted is None:
            self.in_vain.append(candidate)
            return None
        return Proved(candidate, evicted)

    def least(self, most: int, make: Callable[[int], Candidate]) -> tuple[int, Proved] | None:
        """The smallest number from 1 to `most` for which `make` gives something that helps, by halving.

        None if not even `most` does, or `most` is 0.
        """
        best = self.prove(make(most)) if most else None
        if best is None:
            return None
        low, high = 1, most
        while low < high:
            middle = (low + high) // 2
            proved = self.prove(make(middle))
            if proved is None:
                low = middle + 1
            else:
                high, best = middle, proved
        return high, best

    def fewest(self, items: Sequence[T], make: Callable[[Sequence[T]], Candidate]) -> Proved | None:
        """What helps with few of `items`: with a shortest beginning, and of that without those that are
        not needed. None if not even all of them help."""
        found = self.least(len(items), lambda count: make(items[:count]))
        if found is None:
            return None
        count, best = found
        kept = list(items[:count])
        for item in items[: count - 1]:
            fewer = [each for each in kept if each is not item]
            proved = self.prove(make(fewer))
            if proved is not None:
                kept, best = fewer, proved
        return best
