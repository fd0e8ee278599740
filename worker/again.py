"""Making the decisions of a log again: each from the State that it was made on, at the time it records."""

from collections.abc import Iterable
from dataclasses import dataclass

from domain.conflict import stands
from domain.events import Event, GroupAttempted, Payload
from domain.scheduling.cycle import Decision, decide
from domain.state import State
from store.chain import StoredEvent
from worker.history import attempt_of


@dataclass(frozen=True)
class Attempt:
    """An attempt and where it stands in the log."""

    position: int
    payload: GroupAttempted


@dataclass
class _Early:
    """A decision between its snapshot and its commit, and the first event that it does not survive."""

    decision: Decision | None
    overtaken: int | None = None

    def survives(self, event: Event, state: State) -> bool:
        """Whether the decision, if one was made, stands after `event`, which comes on `state`."""
        return self.decision is None or stands(self.decision, event, state)


class Again:
    """Decides again on `state`, which its owner folds event by event.

    `attempts` are those of the log: some were committed after events that they had not seen, and are
    made when the State passes their snapshot.
    """

    def __init__(self, state: State, attempts: Iterable[StoredEvent]) -> None:
        self._state = state
        self._early: dict[int, list[Attempt]] = {}
        self._decided: dict[int, _Early] = {}
        for stored in attempts:
            attempt = read_attempt(stored)
            if state.position <= attempt.payload.snapshot < stored.position - 1:
                self._early.setdefault(attempt.payload.snapshot, []).append(attempt)

    def look(self) -> None:
        """Decide what was decided on the State as it is now; to be called before each event is folded."""
        for attempt in self._early.pop(self._state.position, ()):
            self._decided[attempt.position] = _Early(decide(self._state, attempt.payload.at))

    def see(self, event: Event) -> None:
        """Note that `event` comes next; to be called after `look`, and before it is folded."""
        for early in self._decided.values():
            if early.overtaken is None and not early.survives(event, self._state):
                early.overtaken = event.position

    def overtaken_by(self, attempt: Attempt) -> int | None:
        """The position of an event after which `attempt` should not have been committed, if there is one."""
        early = self._decided.get(attempt.position)
        return None if early is None else early.overtaken

    def decisions(self, attempt: Attempt) -> tuple[Payload, ...]:
        """The facts that `attempt`, the next event, and its batch should be; none if nothing was due."""
        early = self._decided.pop(attempt.position, None)
        decision = decide(self._state, attempt.payload.at) if early is None else early.decision
        return () if decision is None else decision.payloads


def read_attempt(stored: StoredEvent) -> Attempt:
    """The attempt that `stored` is. Raises CorruptLog if it is none."""
    return Attempt(stored.position, attempt_of(stored))
