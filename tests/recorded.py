"""What a real Kubernetes 1.37.2 did, beside what ganger does with the same facts.

A recording is compared batch by batch: whatever its makers did at once, then everything that followed
until nothing moved. What Kubernetes leaves to chance is not compared: nodes among equal ones, uids,
times, the number of attempts. Texts are compared after `as_ganger`, and those of trees and of groups
with a constraint after `loose` on both sides.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from domain.admission.kinds import POD, POD_GROUP
from domain.events import Event, PodEvicted
from domain.queue import SILENCE_US
from domain.state import State
from domain.times import SECOND
from store.engine import Store
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.kube_events import as_core, recent_events
from worker.loop import Worker
from worker.recordings import Fact, Observation, facts_in, take
from worker.shown import as_shown

FOLDER = Path(__file__).resolve().parent / "recordings"

Manifest = Mapping[str, Any]

WRAP = "pod group is unschedulable, 0/1 placements are available, first placement status: "
CLAIMS = ", deallocation and deletion of ResourceClaims completed"


def read_recording(path: Path) -> list[Observation]:
    """The observations in `path`."""
    decode = msgspec.json.Decoder(Observation).decode
    return [decode(line) for line in path.read_bytes().splitlines()]


def as_ganger(recorded: str, *, plain: bool) -> str:
    """`recorded` as ganger writes it; `plain`: its group has no topology constraint and no parent.

    Kubernetes wraps the text of every group while it has topology constraints at all; ganger only where
    there is something to choose. What dynamic resource allocation says is left out, and so are
    repetitions of what preemption says.
    """
    text = recorded.replace(WRAP, "") if plain else recorded
    text = text.replace(CLAIMS, "")
    return re.sub(r"(, pod group preemption: .+?)\1+$", r"\1", text)


def loose(text: str) -> str:
    """`text` without what ganger adds for trees: which group pulled which down, what the minimum is of."""
    text = re.sub(r'(?:parent|ancestor) composite pod group "[^"]*" is unschedulable: ', "", text)
    text = text.replace("minGroupCount (", "minCount (")
    return re.sub(r"(pod group is unschedulable, )\1+", r"\1", text)


def translated(recorded: str, *, plain: bool) -> str:
    """`recorded` as it is compared."""
    text = as_ganger(recorded, plain=plain)
    return text if plain else loose(text)


@dataclass(frozen=True)
class Said:
    """A condition, as far as it is compared."""

    status: str
    reason: str
    message: str


@dataclass
class Rest:
    """How a cluster stands once nothing moves any more: conditions by object, and who is where.

    `fates` has of every Pod its phase, whether it is on a node, nominated, and under deletion.
    """

    fates: dict[str, tuple[str, bool, bool, bool]] = field(default_factory=dict)
    pods: dict[str, Said | None] = field(default_factory=dict)
    groups: dict[str, Said | None] = field(default_factory=dict)
    finalizers: dict[str, list[str]] = field(default_factory=dict)
    victims: dict[str, Said] = field(default_factory=dict)
    """By uid, of all Pods evicted so far."""


class Recorded:
    """Follows a recording."""

    def __init__(self) -> None:
        self._pods: dict[str, Manifest] = {}
        self._groups: dict[str, Manifest] = {}
        self._started: dict[str, Said] = {}
        """The conditions that were once True, by uid: they do not go back, but for a race."""
        self._victims: dict[str, Said] = {}

    def follow(self, observation: Observation) -> None:
        kept = {"Pod": self._pods, "PodGroup": self._groups}.get(observation.kind)
        if kept is None:
            return
        body = observation.object
        key, uid = _key(body), body["metadata"]["uid"]
        kept[key] = body
        said = condition(body, "PodGroupInitiallyScheduled")
        if said is not None and said.status == "True":
            self._started[uid] = said
        victim = condition(body, "DisruptionTarget")
        if observation.kind == "Pod" and victim is not None:
            self._victims[uid] = victim
        if observation.type == "DELETED":
            del kept[key]

    def rest(self) -> Rest:
        rest = Rest(victims=dict(self._victims))
        for key, pod in self._pods.items():
            plain = self._is_plain(pod)
            rest.fates[key] = _fate(pod)
            rest.pods[key] = _translated(condition(pod, "PodScheduled"), plain=plain)
        for key, group in self._groups.items():
            said = condition(group, "PodGroupInitiallyScheduled")
            said = self._started.get(group["metadata"]["uid"], said)
            rest.groups[key] = _translated(said, plain=is_plain(group))
            rest.finalizers[key] = group["metadata"].get("finalizers", [])
        return rest

    def _is_plain(self, pod: Manifest) -> bool:
        group = self._groups.get(f"{pod['metadata']['namespace']}/{_group_of(pod)}")
        return group is None or is_plain(group)


class Ganger:
    """A cluster of ganger that is told the same facts, under virtual time."""

    def __init__(self, store: Store, stream: str, at: int) -> None:
        self.clock = VirtualClock(at)
        self.cluster = Cluster.open(store, stream, clock=self.clock)
        self.worker = Worker(self.cluster)
        self._victims: dict[str, Said] = {}
        self.cluster.listen(self._follow)

    def tell(self, facts: Sequence[Fact]) -> None:
        """Import `facts`, and let everything that follows from them happen.

        But stop before ganger says what is missing above Pods, of which Kubernetes never speaks.
        """
        self.clock.advance_to(facts[0].at)
        assert take(self.cluster, facts) == []
        self.worker.advance(self.clock, self.clock.now() + SILENCE_US - SECOND)

    def rest(self) -> Rest:
        rest = Rest(victims=dict(self._victims))
        groups = {_key(group): group for group in self.cluster.shown_all(POD_GROUP)}
        for pod in self.cluster.shown_all(POD):
            group = groups.get(f"{pod['metadata']['namespace']}/{_group_of(pod)}")
            plain = group is None or is_plain(group)
            rest.fates[_key(pod)] = _fate(pod)
            rest.pods[_key(pod)] = _loosened(condition(pod, "PodScheduled"), plain=plain)
        for key, group in groups.items():
            said = condition(group, "PodGroupInitiallyScheduled")
            rest.groups[key] = _loosened(said, plain=is_plain(group))
            rest.finalizers[key] = group["metadata"].get("finalizers", [])
        return rest

    def events(self) -> list[Manifest]:
        """The Kubernetes Events of all that happened, in `v1`."""
        return [as_core(event) for event in recent_events(self.cluster, now=self.clock.now())]

    def _follow(self, state: State, events: Sequence[Event]) -> None:
        for event in events:
            match event.payload:
                case PodEvicted() as evicted:
                    pod = state.pods[evicted.pod]
                    said = condition(as_shown(pod, {"metadata": {}, "spec": {}}), "DisruptionTarget")
                    assert said is not None
                    self._victims[pod.uid] = said


def batches(observations: Sequence[Observation]) -> Iterator[tuple[list[Fact], Sequence[Observation]]]:
    """The facts that came together, with all observations up to the next ones."""
    together: list[list[Fact]] = []
    for fact in facts_in(observations):
        if together and fact.index == together[-1][-1].index + 1:
            together[-1].append(fact)
        else:
            together.append([fact])
    starts = [0, *(batch[0].index for batch in together[1:]), len(observations)]
    for number, batch in enumerate(together):
        yield batch, observations[starts[number] : starts[number + 1]]


def is_plain(group: Manifest) -> bool:
    """Is the group neither constrained nor part of a tree?"""
    spec = group["spec"]
    return not spec.get("schedulingConstraints") and not spec.get("parentCompositePodGroupName")


def _fate(pod: Manifest) -> tuple[str, bool, bool, bool]:
    status = pod["status"]
    bound = "nodeName" in pod["spec"]
    nominated = "nominatedNodeName" in status
    return status["phase"], bound, nominated, "deletionTimestamp" in pod["metadata"]


def condition(body: Manifest, name: str) -> Said | None:
    for each in (body.get("status") or {}).get("conditions") or ():
        if each["type"] == name:
            return Said(each["status"], each.get("reason", ""), each.get("message", ""))
    return None


def _translated(said: Said | None, *, plain: bool) -> Said | None:
    if said is None:
        return None
    return Said(said.status, said.reason, translated(said.message, plain=plain))


def _loosened(said: Said | None, *, plain: bool) -> Said | None:
    return said if said is None or plain else Said(said.status, said.reason, loose(said.message))


def _key(body: Manifest) -> str:
    return f"{body['metadata']['namespace']}/{body['metadata']['name']}"


def _group_of(pod: Manifest) -> str | None:
    name: str | None = pod["spec"].get("schedulingGroup", {}).get("podGroupName")
    return name


@dataclass(frozen=True)
class Heard:
    """A Kubernetes Event about a Pod, as far as it is compared: not how often it came."""

    pod: str
    type: str
    reason: str
    action: str
    note: str
    related: str


def heard_in(observations: Sequence[Observation]) -> set[Heard]:
    """What the Events of a recording tell."""
    return heard([each.object for each in observations if each.kind == "Event"], plain_pods(observations))


def plain_pods(observations: Iterable[Observation]) -> frozenset[str]:
    """The Pods of a recording, by key, that are in no group or in a plain one."""
    seen = [(each.kind, each.object) for each in observations]
    others = {_key(body) for kind, body in seen if kind == "PodGroup" and not is_plain(body)}
    return frozenset(
        _key(body)
        for kind, body in seen
        if kind == "Pod" and f"{body['metadata']['namespace']}/{_group_of(body)}" not in others
    )


def heard(events: Iterable[Manifest], plain: Container[str]) -> set[Heard]:
    """What `events`, in `v1`, tell; `plain` has the keys of the Pods in no group or in a plain one."""
    found = set()
    for event in events:
        about, related = event["involvedObject"], event.get("related")
        pod = f"{about['namespace']}/{about['name']}"
        found.add(
            Heard(
                pod=pod,
                type=event["type"],
                reason=event["reason"],
                action=event["action"],
                note=_free(translated(event["message"], plain=pod in plain)),
                related="" if related is None else f"{related['kind']}/{related['name']}",
            )
        )
    return found


def _free(note: str) -> str:
    """`note` without the node, which may be another of equal ones, and without uids."""
    note = re.sub(r"^(Successfully assigned \S+) to \S+$", r"\1", note)
    note = re.sub(r"^(Preempted by pod \S+) on node \S+$", r"\1", note)
    note = re.sub(r"(found a potential placement for pod) on node \S+,", r"\1,", note)
    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uid>", note)
