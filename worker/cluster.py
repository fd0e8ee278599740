"""One cluster: its log, the State folded from it, and requests to it."""

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import UNSET

from domain.admission.kinds import Kind
from domain.budgets import Counted
from domain.conflict import stands
from domain.envelope import Draft
from domain.errors import CorruptLog, Expired, GangerError, PositionConflict, Refused
from domain.events import Added, Event, Payload, PodAdded, PodUpdated, Updated
from domain.reducer import fold
from domain.state import FORMAT, State, decode_state, encode_state
from domain.upcast import CURRENT, draft
from store.append import Batch as AppendedBatch
from store.engine import Store
from store.errors import StoreError
from store.log import EventLog, before_beginning
from store.snapshots import Snapshots
from store.verify import verify as verify_chain
from worker.clocks import Clock
from worker.shown import SystemClass, Visible, all_visible, as_shown, counts_of, record_at, visible_of
from worker.turns import Turns

if TYPE_CHECKING:  # who only reads needs neither admission nor the cycle, which take long to import
    from domain.scheduling.cycle import Decision
    from worker.batch import Batch, Outcome, Request

SNAPSHOT_EVERY = 1_000
"""Events between two snapshots of a small cluster; folding so many takes some hundredths of a second."""

SMALL = 5_000
"""Nodes and Pods of a cluster up to which it is a small one. The more of them a larger one has, the more
events lie between two snapshots, so that making these stays a small part of the work."""

MOST_SMALL_ONES = 20
"""A cluster counts as at most so many small ones: folding what lies between takes a fraction of a second."""

WAYPOINT_EVERY = 1_000
"""Events between two snapshots that are left where somebody has looked at the past: who looks there again
folds fewer, in some hundredths of a second."""

MANIFESTS_AT_A_TIME = 500
"""How many manifests are read by one query; databases bound the number of its parameters."""

SCHEDULER = "scheduler"
USER = "user"

Result = TypeVar("Result")


def random_uid() -> str:
    """A new uid for an object, as Kubernetes makes them."""
    return str(uuid.uuid4())


class Cluster:
    """The log of one cluster and its State, kept up to date; safe to use from several threads.

    `state` is only to be read while `lock` is held, or by the one thread that also writes. Listeners
    hear of what is durable only.
    """

    def __init__(
        self, log: EventLog, snapshots: Snapshots, *, clock: Clock, new_uid: Callable[[], str] = random_uid
    ) -> None:
        self.log = log
        self.clock = clock
        self.lock = Turns()
        self.notes: list[str] = []
        self._snapshots = snapshots
        self._new_uid = new_uid
        self._listeners: list[Callable[[State, Sequence[Event]], None]] = []
        self._state: State | None = self._state_as_of(log.head().position)
        self._founded = 0
        """How far the State reached that was dropped, while there is none."""

    @classmethod
    def open(
        cls,
        store: Store,
        name: str,
        *,
        clock: Clock,
        new_uid: Callable[[], str] = random_uid,
        verify: bool = False,
    ) -> "Cluster":
        """The cluster `name` of `store`, folded to its head.

        With `verify` the whole chain is checked first. Raises CorruptLog with the position.
        """
        log = EventLog(store, name)
        if verify:
            verify_chain(log)
        return cls(log, Snapshots(store, name, format=FORMAT), clock=clock, new_uid=new_uid)

    def listen(self, listener: Callable[[State, Sequence[Event]], None]) -> None:
        """Call `listener` with the State and the new events each time it has moved on."""
        self._listeners.append(listener)

    @property
    def state(self) -> State:
        """The State of all that listeners have been told of, and of the decisions of a run under way."""
        if self._state is None:
            with self.lock:
                if self._state is None:
                    self._state = self._state_as_of(self._founded)
        return self._state

    # Reading

    def refresh(self) -> list[Event]:
        """Fold what has been appended since; the new events."""
        with self.lock:
            events = list(self._read(self.state.position))
            self._move_on(events)
            return events

    def state_at(self, position: int) -> State:
        """An independent State as of `position`. Raises Expired if the log does not reach so far, or back."""
        head, begins = self.log.head().position, self.log.begins_after()
        if position > head:
            raise Expired(f"position {position} is in the future: the log ends at {head}")
        if position < begins:
            raise before_beginning(position, begins)
        return self._state_as_of(position)

    def event(self, position: int) -> Event:
        """The event at `position`. Raises Expired if there is none."""
        stored = self.log.get(position)
        if stored is None:
            raise Expired(f"there is no event at position {position}")
        return CURRENT.event(stored.type, stored.line)

    def manifest_at(self, position: int) -> dict[str, Any]:
        """The manifest that the event at `position` holds. Raises CorruptLog if it holds none."""
        return _manifest_in(self.event(position))

    def manifests_at(self, positions: Collection[int]) -> dict[int, dict[str, Any]]:
        """The manifests that the events at `positions` hold. Raises CorruptLog if one holds none."""
        wanted = sorted(positions)
        return {
            each.position: _manifest_in(CURRENT.event(each.type, each.line))
            for start in range(0, len(wanted), MANIFESTS_AT_A_TIME)
            for each in self.log.read_positions(wanted[start : start + MANIFESTS_AT_A_TIME])
        }

    def shown(
        self, kind: Kind, key: str, state: State | None = None, now: int | None = None
    ) -> dict[str, Any] | None:
        """The object as Kubernetes shows it, now or in `state` at `now`; None if there is none.

        Without `now` a past State is looked at as of its last event.
        """
        then = self.state if state is None else state
        record = visible_of(then, kind.name, key)
        if record is None:
            return None
        manifest = record.body if isinstance(record, SystemClass) else self.manifest_at(record.manifest)
        return as_shown(self.seen(record, state, now), manifest, counts_of(then, kind.name, [key]).get(key))

    def seen(self, record: Visible, state: State | None = None, now: int | None = None) -> Visible:
        """A record of `state` as it is at `now`; without them as it is at present."""
        if now is None:
            now = self.present() if state is None else state.at
        return record_at(self.state if state is None else state, record, now)

    def shown_all(
        self,
        kind: Kind,
        *,
        namespace: str | None = None,
        state: State | None = None,
        now: int | None = None,
    ) -> list[dict[str, Any]]:
        """All objects of a kind as Kubernetes shows them, by namespace and name; `now` as for `shown`."""
        then = self.state if state is None else state
        records = all_visible(then, kind.name)
        wanted = [
            self.seen(record, state, now)
            for key, record in sorted(records.items())
            if namespace is None or key.startswith(f"{namespace}/")
        ]
        return list(self.shown_records(wanted, counts_of(then, kind.name, [each.key for each in wanted])))

    def shown_records(
        self, records: Sequence[Visible], counts: Mapping[str, Counted]
    ) -> Iterator[dict[str, Any]]:
        """The objects of `records` as Kubernetes shows them, in the same order, read a page at a time.

        `counts` are those of PodDisruptionBudgets without a status, by key.
        """
        for start in range(0, len(records), MANIFESTS_AT_A_TIME):
            page = records[start : start + MANIFESTS_AT_A_TIME]
            manifests = self.manifests_at(
                [record.manifest for record in page if not isinstance(record, SystemClass)]
            )
            for record in page:
                manifest = record.body if isinstance(record, SystemClass) else manifests[record.manifest]
                yield as_shown(record, manifest, counts.get(record.key))

    # Requests

    def apply(
        self,
        manifests: Sequence[dict[str, Any]],
        *,
        namespace: str | None = None,
        actor: str = USER,
        dry_run: bool = False,
        idempotency_key: str | None = None,
    ) -> "list[Outcome]":
        """Create or update objects by their whole manifests, as one batch in the order given.

        Raises a Refused, and appends nothing of the batch, if one of them is not taken.
        """
        return self._request(
            lambda batch: [batch.apply(manifest, namespace=namespace) for manifest in manifests],
            actor=actor,
            dry_run=dry_run,
            idempotency_key=idempotency_key,
        )

    def create(
        self, manifest: dict[str, Any], *, namespace: str | None, actor: str = USER, dry_run: bool = False
    ) -> "Outcome":
        """Create an object. Raises a Refused if it is not taken."""
        return self._request(
            lambda batch: batch.create(manifest, namespace=namespace), actor=actor, dry_run=dry_run
        )

    def replace(
        self, manifest: dict[str, Any], *, namespace: str | None, actor: str = USER, dry_run: bool = False
    ) -> "Outcome":
        """Replace an object that exists. Raises a Refused if that is not taken."""
        return self._request(
            lambda batch: batch.replace(manifest, namespace=namespace), actor=actor, dry_run=dry_run
        )

    def replace_status(
        self, manifest: dict[str, Any], *, namespace: str | None, actor: str = USER, dry_run: bool = False
    ) -> "Outcome":
        """Replace an object's status. Raises a Refused if that is not taken."""
        return self._request(
            lambda batch: batch.replace_status(manifest, namespace=namespace), actor=actor, dry_run=dry_run
        )

    def configure(self, document: dict[str, Any], *, actor: str = USER, dry_run: bool = False) -> "Outcome":
        """Configure the scheduler by a whole KubeSchedulerConfiguration. Raises Invalid, BadRequest."""
        return self._request(lambda batch: batch.configure(document), actor=actor, dry_run=dry_run)

    def delete(
        self,
        targets: Sequence[tuple[Kind, str]],
        *,
        grace: int | None = None,
        actor: str = USER,
        dry_run: bool = False,
    ) -> "list[Outcome]":
        """Delete objects as one batch. Raises NotFound, and deletes none, if one is not there."""
        return self._request(
            lambda batch: [batch.delete(kind, key, grace=grace) for kind, key in targets],
            actor=actor,
            dry_run=dry_run,
        )

    def answer(
        self, requests: "Sequence[Request[Result]]", *, actor: str = USER
    ) -> list[Result | GangerError]:
        """What becomes of independent requests: each sees those before it, and is a batch of its own.

        All are committed in one transaction, so that many callers share one sync of the disk. One that
        is refused leaves the others as they are.
        """
        with self.lock:
            while True:
                self.refresh()
                results, batches, payloads = self._admit_all(requests, actor)
                if not batches:
                    return results
                first = self.state.position + 1
                try:
                    self.log.append_all(batches, expected=self.state.position)
                except PositionConflict:
                    continue
                self._fold_own(payloads, first, batches[0].at)
                return results

    def _admit_all(
        self, requests: "Sequence[Request[Result]]", actor: str
    ) -> tuple[list[Result | GangerError], list[AppendedBatch], list[Payload]]:
        batch = self.new_batch()
        results: list[Result | GangerError] = []
        appends: list[AppendedBatch] = []
        at = self.present()
        for request in requests:
            mark = batch.mark()
            try:
                results.append(request.admit(batch))
            except Refused as refusal:
                results.append(refusal)
                batch.back_to(mark)
            else:
                if request.dry_run:
                    batch.back_to(mark)
            asked = batch.payloads[mark.count :]
            if asked:
                drafts = [draft(payload, actor=actor) for payload in asked]
                appends.append(AppendedBatch(drafts=drafts, at=at))
        return results, appends, batch.payloads

    def new_batch(self) -> "Batch":
        """An empty batch on the present State."""
        from worker.batch import Batch

        return Batch(self.state, self.manifest_at, now=self.clock.now(), new_uid=self._new_uid)

    def append(
        self,
        payloads: Sequence[Payload],
        *,
        actor: str,
        cause: int | None = None,
        epoch: int | None = None,
        idempotency_key: str | None = None,
    ) -> list[Event]:
        """Append `payloads` as one batch right after the present State, and fold them.

        Raises PositionConflict if the log has moved on since the last refresh.
        """
        with self.lock:
            at = self.present()
            appended = self.log.append(
                [draft(payload, actor=actor, cause=cause) for payload in payloads],
                at=at,
                expected=self.state.position,
                epoch=epoch,
                idempotency_key=idempotency_key,
            )
            if appended.replayed:
                return []
            return self._fold_own(payloads, appended.first, at)

    def commit(self, decision: "Decision", *, epoch: int | None = None) -> list[Event]:
        """Append a decision as one batch if it still stands on what came after its snapshot.

        Raises CommitConflict, and appends nothing, if it does not, and StaleEpoch if another worker
        has taken over.
        """
        with self.lock:
            at = self.present()
            appended = self.log.append(
                _drafts(decision),
                at=at,
                epoch=epoch,
                snapshot_position=decision.snapshot,
                guard=lambda tail: all(
                    stands(decision, CURRENT.event(stored.type, stored.line), self.state) for stored in tail
                ),
            )
            return self._fold_own(decision.payloads, appended.first, at)

    def commit_run(self, decisions: "Iterable[Decision]", *, epoch: int | None = None) -> list[Event]:
        """Append decisions in one transaction, each as a batch of its own.

        The next one is asked for when those before it are folded: it is made on the State to which they
        lead. Raises PositionConflict, and appends nothing, if the log has moved on since the first was
        made, and StaleEpoch if another worker has taken over.
        """
        with self.lock:
            founded = self.state.position
            try:
                batches, events = self._assume(decisions, epoch)
                for outcome in self.log.append_all(batches, expected=founded):
                    if isinstance(outcome, GangerError):
                        raise outcome
            except BaseException:
                self._state, self._founded = None, founded
                raise
            self._tell(events)
            return events

    def _assume(
        self, decisions: "Iterable[Decision]", epoch: int | None
    ) -> tuple[list[AppendedBatch], list[Event]]:
        """The batches and events of `decisions`, which are folded and told to nobody."""
        batches: list[AppendedBatch] = []
        events: list[Event] = []
        for decision in decisions:
            at = self.present()
            batches.append(AppendedBatch(drafts=_drafts(decision), at=at, epoch=epoch))
            new = _events(decision.payloads, self.state.position + 1, at)
            fold(self.state, new)
            events += new
        return batches, events

    def _request(
        self,
        admit: "Callable[[Batch], Result]",
        *,
        actor: str,
        dry_run: bool,
        idempotency_key: str | None = None,
    ) -> Result:
        with self.lock:
            while True:
                self.refresh()
                batch = self.new_batch()
                result = admit(batch)
                if dry_run or not batch.payloads:
                    return result
                try:
                    self.append(batch.payloads, actor=actor, idempotency_key=idempotency_key)
                except PositionConflict:
                    continue
                return result

    def present(self) -> int:
        """The time of an append now, in microseconds: time never goes back within a log."""
        return max(self.clock.now(), self.state.at)

    # Folding

    def _read(self, after: int, until: int | None = None) -> Iterator[Event]:
        return (CURRENT.event(stored.type, stored.line) for stored in self.log.read(after, until))

    def _fold_own(self, payloads: Sequence[Payload], first: int, at: int) -> list[Event]:
        """Fold events that this process has just appended, without reading them again."""
        if first != self.state.position + 1:
            return self.refresh()
        events = _events(payloads, first, at)
        self._move_on(events)
        return events

    def _move_on(self, events: Sequence[Event]) -> None:
        fold(self.state, events)
        self._tell(events)

    def _tell(self, events: Sequence[Event]) -> None:
        """Tell listeners of `events`, which are durable and folded."""
        if not events:
            return
        for listener in self._listeners:
            listener(self.state, events)
        before, every = events[0].position - 1, _snapshot_every(self.state)
        if before // every != self.state.position // every:
            self._save(self.state)

    def _save(self, state: State) -> None:
        stored = self.log.get(state.position)
        if stored is not None:
            self._snapshots.save(state.position, stored.hash, encode_state(state))

    def _state_as_of(self, position: int) -> State:
        state = self._snapshot_at(position)
        waypoint = position - position % WAYPOINT_EVERY
        if waypoint - state.position >= WAYPOINT_EVERY:
            fold(state, self._read(state.position, waypoint))
            self._leave_waypoint(state)
        return fold(state, self._read(state.position, position))

    def _leave_waypoint(self, state: State) -> None:
        """Keep `state`, so that nobody need fold up to it again; not where the store cannot be written."""
        try:
            self._save(state)
        except StoreError as error:
            self.notes.append(f"no snapshot was left at position {state.position}: {error}")

    def _snapshot_at(self, position: int) -> State:
        """The State of the newest usable snapshot up to `position`, or that before the first event."""
        found = self._snapshots.load(position)
        self.notes.extend(found.notes)
        if found.snapshot is None:
            return first_state(self.log)
        try:
            return decode_state(found.snapshot.body)
        except CorruptLog as error:
            self.notes.append(f"a snapshot was not used: {error}")
            return first_state(self.log)


def first_state(log: EventLog) -> State:
    """The State before the first event of `log`: an empty one, unless it is a window of a longer log.

    Raises CorruptLog if it is of a format that this program does not know.
    """
    beginning = log.beginning()
    return State() if beginning is None else decode_state(beginning.state.state)


def _snapshot_every(state: State) -> int:
    size = len(state.pods) + len(state.node_records)
    return SNAPSHOT_EVERY * min(1 + size // SMALL, MOST_SMALL_ONES)


def _drafts(decision: "Decision") -> list[Draft]:
    return [draft(payload, actor=SCHEDULER, cause=decision.cause) for payload in decision.payloads]


def _events(payloads: Sequence[Payload], first: int, at: int) -> list[Event]:
    return [Event(position, at, payload) for position, payload in enumerate(payloads, first)]


def _manifest_in(event: Event) -> dict[str, Any]:
    payload = event.payload
    if isinstance(payload, Added | Updated | PodAdded | PodUpdated) and payload.object is not UNSET:
        manifest: dict[str, Any] = msgspec.json.decode(payload.object)
        return manifest
    raise CorruptLog(f"{type(payload).__name__} holds no manifest", position=event.position)
