"""A cluster in a store under virtual time, with its worker: the real product, driven by a test."""

from itertools import count

from build import START, Manifest
from domain.admission.kinds import kind_named
from domain.explanation import Explanation
from domain.times import SECOND
from store.engine import Store
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.explaining import why
from worker.history import Entry, history
from worker.loop import Worker


class Live:
    """The cluster `name` of `store`; it begins at `START`, and uids count from 1."""

    def __init__(self, store: Store, name: str = "default") -> None:
        uids = count(1)
        self.clock = VirtualClock(START)
        self.cluster = Cluster.open(
            store, name, clock=self.clock, new_uid=lambda: f"00000000-0000-4000-8000-{next(uids):012x}"
        )
        self.worker = Worker(self.cluster)

    @property
    def position(self) -> int:
        """That of the newest event."""
        return self.cluster.state.position

    def apply(self, *manifests: Manifest) -> "Live":
        """Create or update objects as one batch."""
        self.cluster.apply(manifests)
        return self

    def delete(self, *subjects: str, grace: int | None = None) -> "Live":
        """Delete objects (`Pod/default/a`) as a user does."""
        targets = [subject.split("/", 1) for subject in subjects]
        self.cluster.delete([(kind_named(kind), key) for kind, key in targets], grace=grace)
        return self

    def settle(self) -> "Live":
        """Go on, time passing, until nothing would happen any more."""
        self.worker.settle(self.clock)
        return self

    def wait(self, seconds: int) -> "Live":
        """Let time pass, doing what falls due."""
        self.worker.advance(self.clock, self.clock.now() + seconds * SECOND)
        return self

    def why(self, subject: str, *, at: int | None = None, level: int = 1) -> Explanation:
        """The explanation of `subject` (`Pod/default/a`), now or as of a position."""
        kind, _, key = subject.partition("/")
        return why(self.cluster, kind_named(kind), key, position=at, level=level)

    def history(
        self,
        subject: str,
        *,
        after: int = 0,
        limit: int | None = None,
        since: int | None = None,
        until: int | None = None,
    ) -> list[Entry]:
        """What concerns `subject`."""
        kind, _, key = subject.partition("/")
        found = history(
            self.cluster, kind_named(kind), key, after=after, limit=limit, since=since, until=until
        )
        return list(found)
