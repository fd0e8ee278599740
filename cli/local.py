"""Objects of a cluster that this process has opened."""

from collections.abc import Iterator, Mapping

from cli.objects import GroupFacts, Shown, facts_of, key_of
from domain.admission.kinds import EVENT, POD, Kind, not_found
from domain.kube_events import KubeEvent
from domain.state import State
from worker.cluster import Cluster
from worker.history import Entry, history
from worker.kube_events import as_core, events_about, recent_events
from worker.moments import Moment


class LocalObjects:
    """The objects of `cluster`, now or as of `moment`."""

    def __init__(self, cluster: Cluster, moment: Moment | None = None) -> None:
        self._cluster = cluster
        self._state = cluster.state if moment is None else cluster.state_at(moment.position)
        self._until = None if moment is None else moment.now
        now = cluster.clock.now() if moment is None else moment.now
        self.facts = StateFacts(self._state, max(now, self._state.at))

    def one(self, kind: Kind, namespace: str, name: str) -> Shown:
        """The object of this name. Raises NotFound."""
        if kind is EVENT:
            return self._event(namespace, name)
        shown = self._cluster.shown(kind, kind.key_of(namespace, name), self._state, self.facts.now)
        if shown is None:
            raise not_found(kind, name)
        return shown

    def all(self, kind: Kind, namespace: str | None) -> list[Shown]:
        """The objects of a kind, of one namespace or all, sorted by namespace and name."""
        if kind is EVENT:
            return self._recent_events(namespace)
        wanted = namespace if kind.namespaced else None
        return self._cluster.shown_all(kind, namespace=wanted, state=self._state, now=self.facts.now)

    def history(self, kind: Kind, namespace: str, name: str) -> Iterator[Entry]:
        """What concerns an object, in the order of the log."""
        return history(self._cluster, kind, kind.key_of(namespace, name), until=self._until)

    def events(self, kind: Kind, shown: Shown) -> list[Shown]:
        """The Kubernetes Events about an object, the one that happened last at the end."""
        if kind is not POD:
            return []
        uid = shown["metadata"]["uid"]
        found = [event for event in self._events_about(key_of(shown)) if event.first.regarding.uid == uid]
        return [as_core(event) for event in sorted(found, key=lambda event: event.last)]

    def _events_about(self, key: str) -> list[KubeEvent]:
        return events_about(self._cluster, key, until=self._state.position)

    def _event(self, namespace: str, name: str) -> Shown:
        for event in self._events_about(f"{namespace}/{name.rpartition('.')[0]}"):
            if event.name == name:
                return as_core(event)
        raise not_found(EVENT, name)

    def _recent_events(self, namespace: str | None) -> list[Shown]:
        found = recent_events(self._cluster, now=self.facts.now, until=self._state.position)
        return sorted((as_core(each) for each in found if namespace in (None, each.namespace)), key=key_of)


class StateFacts:
    """What the State says beside the objects, at `now` (microseconds)."""

    def __init__(self, state: State, now: int) -> None:
        self.now = now
        self._state = state
        self._groups: dict[tuple[str, str], GroupFacts] = {}

    def group(self, kind: str, key: str) -> GroupFacts:
        """How the group `namespace/name` of a kind stands."""
        from domain.explain import explain

        if (kind, key) not in self._groups:
            self._groups[kind, key] = facts_of(explain(self._state, kind, key, now=self.now, brief=True))
        return self._groups[kind, key]

    def used(self, node: str) -> Mapping[str, int]:
        """What the Pods on a node request, by resource in base units, with `pods`."""
        return self._state.nodes.used(node)
