"""Nobody rests whom a fresh attempt would start, also where rules about other Pods hold them back."""

from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from build import Manifest, Story, fact, group, key_of, node, pod
from domain import events as ev
from domain.queue import Lane, Verdict
from domain.scheduling.cycle import decide
from domain.state import State, decode_state, encode_state

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def of(app: str, key: str = ZONE, **fields: Any) -> Manifest:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **fields}


def labelled(manifest: Manifest, **labels: str) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "labels": labels}}


def spread(app: str, key: str = ZONE, **fields: Any) -> Manifest:
    return of(app, key, maxSkew=1, whenUnsatisfiable="DoNotSchedule", **fields)


NEAR_WEB = {"affinity": {"podAffinity": {REQUIRED: [of("web")]}}}
FAR_FROM_WEB = {"affinity": {"podAntiAffinity": {REQUIRED: [of("web")]}}}
EVENLY = {"topologySpreadConstraints": [spread("web")]}


def in_zone(name: str, zone: str, **given: Any) -> Manifest:
    return node(name, labels={ZONE: zone}, **given)


def changed(manifest: Manifest) -> ev.Payload:
    return fact(manifest, "Updated")


def removed(manifest: Manifest) -> ev.Payload:
    """The event that `manifest` was deleted."""
    name = manifest["metadata"]["name"]
    fields: Manifest = {"key": key_of(manifest), "uid": f"uid-of-{name}"}
    if manifest["kind"] == "Pod":
        fields |= {"group": None, "node": manifest["spec"].get("nodeName")}
    return ev.PAYLOADS[f"{manifest['kind']}Deleted"](**fields)


def leaving(manifest: Manifest) -> ev.Payload:
    """The event that the deletion of a Pod began."""
    return ev.PodUpdated(
        key=key_of(manifest),
        group=None,
        node=manifest["spec"].get("nodeName"),
        deletion=ev.Deletion(at=0, grace=30),
    )


def namespace(name: str, **labels: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


WEB = labelled(pod("web", node="n1"), app="web")
HOPEFUL_WEB = labelled(
    {**pod("web", gates=["example.com/wait"]), "status": {"nominatedNodeName": "n1"}}, app="web"
)
FENCE = labelled(pod("fence", node="n1", affinity={"podAntiAffinity": {REQUIRED: [of("p")]}}), app="f")
GUARD = pod(
    "guard",
    node="n1",
    namespace="other",
    affinity={
        "podAntiAffinity": {REQUIRED: [of("p", namespaceSelector={"matchLabels": {"guarded": "yes"}})]}
    },
)


@pytest.mark.parametrize(
    ("before", "waiting", "event"),
    [
        pytest.param(
            [in_zone("n1", "a")],
            pod("p", **NEAR_WEB),
            fact(labelled(pod("web", node="n1"), app="web")),
            id="a Pod to be near is bound",
        ),
        pytest.param(
            [in_zone("n1", "a"), HOPEFUL_WEB],
            pod("p", **NEAR_WEB),
            ev.PodBound(pod="default/web", uid="uid-of-web", group=None, node="n1"),
            id="a Pod to be near is bound to the node that it was nominated to",
        ),
        pytest.param(
            [in_zone("n1", "a"), labelled(pod("web", node="n1"), app="db")],
            pod("p", **NEAR_WEB),
            changed(WEB),
            id="a Pod to be near is relabelled",
        ),
        pytest.param(
            [node("n1"), node("n2"), WEB],
            pod("p", **NEAR_WEB),
            changed(in_zone("n1", "a")),
            id="its node gets the label",
        ),
        pytest.param(
            [in_zone("n1", "a"), WEB],
            pod("p", **FAR_FROM_WEB),
            removed(WEB),
            id="a Pod to avoid goes",
        ),
        pytest.param(
            [in_zone("n1", "a"), WEB],
            pod("p", **FAR_FROM_WEB),
            changed(labelled(pod("web", node="n1"), app="db")),
            id="a Pod to avoid is relabelled",
        ),
        pytest.param(
            [in_zone("n1", "a"), in_zone("n2", "a"), WEB],
            pod("p", **FAR_FROM_WEB),
            removed(in_zone("n1", "a")),
            id="the node of a Pod to avoid goes",
        ),
        pytest.param(
            [in_zone("n1", "a"), FENCE],
            labelled(pod("p"), app="p"),
            removed(FENCE),
            id="a Pod that repels goes",
        ),
        pytest.param(
            [in_zone("n1", "a"), in_zone("n2", "a"), FENCE],
            labelled(pod("p"), app="p"),
            removed(in_zone("n1", "a")),
            id="the node of a Pod that repels goes",
        ),
        pytest.param(
            [in_zone("n1", "a"), FENCE],
            labelled(pod("p"), app="p"),
            changed(labelled(pod("p"), app="q")),
            id="it is relabelled itself",
        ),
        pytest.param(
            [in_zone("n1", "a"), namespace("default", guarded="yes"), GUARD],
            labelled(pod("p"), app="p"),
            changed(namespace("default", guarded="no")),
            id="its namespace is relabelled",
        ),
        pytest.param(
            [in_zone("n1", "a"), namespace("default", guarded="yes"), GUARD],
            labelled(pod("p"), app="p"),
            removed(namespace("default")),
            id="its namespace object goes",
        ),
        pytest.param(
            [in_zone("n1", "a"), in_zone("n2", "b", cpu="0"), WEB],
            labelled(pod("p", cpu=1, **EVENLY), app="web"),
            leaving(WEB),
            id="a Pod to spread over is leaving",
        ),
        pytest.param(
            [in_zone("n1", "a"), in_zone("n2", "b", cpu="0"), WEB],
            labelled(pod("p", cpu=1, **EVENLY), app="web"),
            fact(labelled(pod("more", node="n2"), app="web")),
            id="a Pod fills the emptier zone",
        ),
        pytest.param(
            [in_zone("n1", "a"), in_zone("n2", "b", cpu="0"), WEB],
            labelled(pod("p", cpu=1, **EVENLY), app="web"),
            removed(in_zone("n2", "b")),
            id="the emptier zone goes",
        ),
    ],
)
def test_what_helps_wakes(before: list[Manifest], waiting: Manifest, event: ev.Payload) -> None:
    story = Story(*before, waiting).decide().wait(60).decide()
    entity = story.state.queue.entities["Pod/default/p"]
    assert story.state.queue.lane(entity, story.now) is Lane.UNSCHEDULABLE
    story.append(event).wait(60).decide()
    assert story.state.pods["default/p"].node is not None


def could_start(state: State, name: str, now: int) -> bool:
    """Whether an attempt at the entity `name`, made now, would bind a Pod."""
    state = state.copy()
    for other in [each for each in state.queue.entities if each != name]:
        state.queue.drop(other)
    entity = state.queue.entities[name]
    entity.verdict = Verdict.UNTRIED
    state.queue.put(entity)
    decision = decide(state, now)
    return decision is not None and len(decision.payloads) > 1


class Town:
    """A small cluster in which everything about everybody changes, with a log."""

    def __init__(self, draw: Random) -> None:
        self._draw = draw
        self.story = Story()
        self._nodes: dict[str, Manifest] = {}
        self._namespaces: dict[str, Manifest] = {}
        self._groups = 0
        self._pods = 0

    def change(self) -> None:
        """Let something happen."""
        draw = self._draw
        does = draw.choice(
            [self._node, self._node, self._pod, self._pod, self._gang, self._relabel, self._leave,
             self._end, self._end, self._drop_node, self._namespace]
        )  # fmt: skip
        does()

    def _node(self) -> None:
        name = f"n{self._draw.randrange(4)}"
        zone = self._draw.choice(["a", "b", None])
        made = node(name, cpu=self._draw.choice(["1", "2"]), labels={} if zone is None else {ZONE: zone})
        self.story.append(fact(made, "Updated" if name in self._nodes else "Added"))
        self._nodes[name] = made

    def _drop_node(self) -> None:
        if self._nodes:
            self.story.append(removed(self._nodes.pop(self._draw.choice(sorted(self._nodes)))))

    def _namespace(self) -> None:
        name = self._draw.choice(["default", "other"])
        if name in self._namespaces and self._draw.random() < 0.3:
            self.story.append(removed(self._namespaces.pop(name)))
            return
        made = namespace(name, **self._draw.choice([{}, {"team": "x"}]))
        self.story.append(fact(made, "Updated" if name in self._namespaces else "Added"))
        self._namespaces[name] = made

    def _new_pod(self, **given: Any) -> Manifest:
        draw = self._draw
        self._pods += 1
        rules: Manifest = {}
        key = draw.choice([ZONE, HOST])
        other = of(draw.choice(["web", "db"]), key)
        if draw.random() < 0.3:
            other["namespaceSelector"] = {"matchLabels": {"team": "x"}}
        match draw.randrange(7):
            case 0:
                rules = {"affinity": {"podAffinity": {REQUIRED: [other]}}}
            case 1 | 2:
                rules = {"affinity": {"podAntiAffinity": {REQUIRED: [other]}}}
            case 3:
                least = draw.choice([None, 2])
                limits = {} if least is None else {"minDomains": least}
                rules = {"topologySpreadConstraints": [spread(draw.choice(["web", "db"]), key, **limits)]}
            case 4:
                wish = {"weight": 10, "podAffinityTerm": other}
                kind = draw.choice(["podAffinity", "podAntiAffinity"])
                rules = {"affinity": {kind: {PREFERRED: [wish]}}}
            case _:
                pass
        cpu = draw.choice([0, 300, 900])
        made = pod(f"p{self._pods}", cpu=cpu, namespace=draw.choice(["default", "default", "other"]), **rules)
        if given:
            made = pod(f"p{self._pods}", cpu=cpu, **rules, **given)
        return labelled(made, app=draw.choice(["web", "db"]))

    def _pod(self) -> None:
        placed = {"node": self._draw.choice(["n0", "n1", "gone"])} if self._draw.random() < 0.3 else {}
        self.story.add(self._new_pod(**placed))

    def _gang(self) -> None:
        self._groups += 1
        name = f"g{self._groups}"
        size = self._draw.randint(1, 3)
        members = [self._new_pod(group=name) for _ in range(size)]
        self.story.add(group(name, self._draw.randint(1, size)), *members)

    def _some_pod(self) -> Any:
        pods = self.story.state.pods
        return pods[self._draw.choice(sorted(pods))] if pods else None

    def _relabel(self) -> None:
        found = self._some_pod()
        if found is None:
            return
        stored = self.story.events[found.manifest - 1].payload
        assert isinstance(stored, ev.PodAdded | ev.PodUpdated)
        manifest = msgspec.json.decode(stored.object)
        manifest["spec"].pop("nodeName", None)
        if found.node is not None:
            manifest["spec"]["nodeName"] = found.node
        self.story.append(changed(labelled(manifest, app=self._draw.choice(["web", "db"]))))

    def _leave(self) -> None:
        found = self._some_pod()
        if found is not None and found.node is not None and found.deletion is None:
            at = ev.Deletion(at=self.story.now, grace=30)
            self.story.append(ev.PodUpdated(key=found.key, group=found.group, node=found.node, deletion=at))

    def _end(self) -> None:
        found = self._some_pod()
        if found is not None:
            self.story.append(ev.PodDeleted(key=found.key, uid=found.uid, group=found.group, node=found.node))


@given(st.integers(0, 2**32))
def test_nobody_rests_who_could_start(seed: int) -> None:
    town = Town(Random(seed))
    for _ in range(25):
        town.change()
        town.story.wait(60).decide()
        state = town.story.state
        for name, entity in state.queue.entities.items():
            if entity.hold is None and not state.queue.awake(entity):
                assert not could_start(state, name, town.story.now), name
    assert encode_state(decode_state(encode_state(state))) == encode_state(state)
