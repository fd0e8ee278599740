"""Making the decisions of a log again: each from the State that it was made on, at the time it records."""

from collections.abc import Iterable
from dataclasses import dataclass

from domain.events import Fact, GroupAttempted
from domain.scheduling.cycle import decide
from domain.state import State
from domain.upcast import CURRENT
from store.chain import StoredEvent


@dataclass(frozen=True)
class Attempt:
    """An attempt and where it stands in the log."""

    position: int
    payload: GroupAttempted


class Again:
    """Decides again on `state`, which its owner folds event by event.

    `attempts` are those of the log: some were committed after events that they had not seen, and are
    made when the State passes their snapshot.
    """

    def __init__(self, state: State, attempts: Iterable[StoredEvent]) -> None:
        self._state = state
        self._early: dict[int, list[Attempt]] = {}
        self._decided: dict[int, tuple[Fact, ...]] = {}
        for stored in attempts:
            attempt = attempt_in(stored)
            if state.position <= attempt.payload.snapshot < stored.position - 1:
                self._early.setdefault(attempt.payload.snapshot, []).append(attempt)

    def look(self) -> None:
        """Decide what was decided on the State as it is now; to be called before each event is folded."""
        for attempt in self._early.pop(self._state.position, ()):
            self._decided[attempt.position] = self._decide(attempt.payload)

    def decisions(self, attempt: Attempt) -> tuple[Fact, ...]:
        """The facts that `attempt`, the next event, and its batch should be; none if nothing was due."""
        decided = self._decided.pop(attempt.position, None)
        return self._decide(attempt.payload) if decided is None else decided

    def _decide(self, attempt: GroupAttempted) -> tuple[Fact, ...]:
        decision = decide(self._state, attempt.at)
        return () if decision is None else decision.payloads


def attempt_in(stored: StoredEvent) -> Attempt:
    """The attempt that `stored` is."""
    payload = CURRENT.event(stored.type, stored.line).payload
    assert isinstance(payload, GroupAttempted)
    return Attempt(stored.position, payload)
