"""Scenario files: situations with their expected outcome, run through the real product.

Each scenario has a stream of its own and goes through admission, log, reducer and worker under
virtual time. The format is described in tests/conformance/README.md.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NotRequired, TypeAlias, TypedDict

import msgspec

from domain.admission.documents import read_documents
from domain.admission.kinds import COMPOSITE_POD_GROUP, POD_GROUP, Kind, kind_named
from domain.errors import GangerError, NotFound, Refused
from domain.objects import Pod
from domain.queue import Lane
from store.engine import Store
from worker.clocks import START, VirtualClock
from worker.cluster import Cluster
from worker.explaining import why
from worker.loop import Worker
from worker.moments import span_of
from worker.status import status_code

_HELD = (Lane.GATED, Lane.INCOMPLETE)


class BadScenario(GangerError):
    """A file is no scenario, or uses a step or an expectation that does not exist."""


@dataclass(frozen=True)
class Scenario:
    """One scenario file, read. `steps` are (name, argument) with the number of the step from 1."""

    path: Path
    name: str
    features: tuple[str, ...]
    steps: tuple[tuple[str, Any], ...]


@dataclass
class Report:
    """How a scenario came out; `faults` are lines that say what was expected and what was."""

    scenario: Scenario
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        return not self.faults


def find_scenarios(paths: Iterable[Path]) -> Iterator[Scenario]:
    """The scenarios in `paths`, folders searched through, in order of their paths.

    Raises BadScenario for a path that does not exist and a file that is no scenario.
    """
    for path in paths:
        if path.is_dir():
            for file in sorted(path.rglob("*.yaml")):
                yield read_scenario(file)
        elif path.is_file():
            yield read_scenario(path)
        else:
            raise BadScenario(f"{path}: there is no such file or folder")


def read_scenario(path: Path) -> Scenario:
    """The scenario in `path`. Raises BadScenario if it holds none."""
    documents = read_documents(path.read_bytes(), str(path))
    body = documents[0].value if len(documents) == 1 else None
    if not isinstance(body, dict) or not isinstance(body.get("steps"), list) or "name" not in body:
        raise BadScenario(f"{path}: a scenario has a name and a list of steps")
    steps = []
    for number, step in enumerate(body["steps"], 1):
        if not isinstance(step, dict) or len(step) != 1:
            raise BadScenario(f"{path}: step {number}: must be one key with its argument")
        ((name, argument),) = step.items()
        if name not in _STEPS:
            raise BadScenario(
                f"{path}: step {number}: unknown step {name!r}, must be one of {', '.join(_STEPS)}"
            )
        try:
            _check(name, argument)
        except ValueError as error:
            raise BadScenario(f"{path}: step {number} ({name}): {error}") from error
        steps.append((name, argument))
    return Scenario(path, body["name"], tuple(body.get("features", ())), tuple(steps))


def run_scenario(store: Store, scenario: Scenario, stream: str) -> Report:
    """Run `scenario` in the empty `stream` of `store`."""
    report = Report(scenario)
    began = time.monotonic()
    run = _Run(store, stream)
    for number, (name, argument) in enumerate(scenario.steps, 1):
        try:
            found = _STEPS[name](run, argument)
        except GangerError as error:
            found = [str(error)]
        report.faults += [f"step {number} ({name}): {fault}" for fault in found]
        if report.faults:
            break
    report.seconds = time.monotonic() - began
    return report


class _Run:
    """A scenario under way."""

    def __init__(self, store: Store, stream: str) -> None:
        self.clock = VirtualClock(START)
        uids = count(1)
        self.cluster = Cluster.open(
            store, stream, clock=self.clock, new_uid=lambda: f"00000000-0000-4000-8000-{next(uids):012x}"
        )
        self.worker = Worker(self.cluster)
        self.seen: set[str] = set()

    def settle(self, _: object = None) -> list[str]:
        self.worker.settle(self.clock)
        return []

    def apply(self, manifests: Sequence[dict[str, Any]]) -> list[str]:
        outcomes = self.cluster.apply(manifests)
        self.seen.update(outcome.key for outcome in outcomes if outcome.kind.name == "Pod")
        return []

    def refuse(self, argument: Mapping[str, Any]) -> list[str]:
        before = self.cluster.log.head()
        try:
            self.cluster.apply(argument["apply"])
        except Refused as error:
            faults = []
            if "code" in argument and status_code(error) != argument["code"]:
                faults.append(f"expected code {argument['code']}, got {status_code(error)}: {error}")
            texts = argument.get("contains", [])
            faults += [
                f"expected a refusal with {text!r}, got {error.message!r}"
                for text in ([texts] if isinstance(texts, str) else texts)
                if text not in error.message
            ]
            if self.cluster.log.head() != before:
                faults.append("the batch was refused, but the log has changed")
            return faults
        return ["expected a refusal, but the batch was taken"]

    def delete(self, targets: Sequence[str]) -> list[str]:
        """Delete as kubectl does, which waits for what ends at once: the names can be given again."""
        self.cluster.delete([_target(text) for text in targets])
        self.worker.let_nodes_act()
        return []

    def advance(self, argument: str) -> list[str]:
        self.worker.advance(self.clock, self.clock.now() + span_of(argument))
        return []

    def expect(self, argument: Mapping[str, Any]) -> list[str]:
        """Settle and check. Who is still to be tried is looked at before: afterwards it is nobody."""
        waiting = argument.get("queue")
        faults = self.active_queue(waiting) if waiting else []
        self.settle()
        for key, value in argument.items():
            if key != "queue" or not waiting:
                faults += _EXPECTATIONS[key](self, value)
        return faults

    # What can be expected

    def pod(self, name: str) -> Pod | None:
        return self.cluster.state.pods.get(_key(name))

    def standing(self, name: str) -> str:
        """How a Pod stands, in the words of `expect`."""
        pod = self.pod(name)
        if pod is None:
            return "removed" if _key(name) in self.seen else "unknown"
        if pod.node is not None:
            return "scheduled"
        lane = self.cluster.state.lane_of(pod, self.clock.now())
        if lane is None:
            return "not queued"
        if lane in _HELD:
            return "gated"
        return "unschedulable" if pod.attempts else "not tried"

    def all_are(self, standing: str) -> Callable[[Sequence[str]], list[str]]:
        def check(names: Sequence[str]) -> list[str]:
            return [
                f"expected {name} {standing}, it is {self.describe(name)}"
                for name in names
                if self.standing(name) != standing
            ]

        return check

    def describe(self, name: str) -> str:
        pod = self.pod(name)
        told = self.standing(name)
        if pod is not None and pod.node is not None:
            return f"{told} on {pod.node}"
        if pod is not None and pod.condition is not None and pod.condition.message:
            return f"{told}: {pod.condition.message}"
        return told

    def counts(self, expected: Sequence[Mapping[str, Any]]) -> list[str]:
        faults = []
        for group in expected:
            standings = [self.standing(name) for name in group["pods"]]
            for standing in ("scheduled", "unschedulable"):
                if standing in group and standings.count(standing) != group[standing]:
                    told = ", ".join(f"{name} {self.describe(name)}" for name in group["pods"])
                    faults.append(
                        f"expected {group[standing]} {standing}, got {standings.count(standing)}: {told}"
                    )
        return faults

    def nodes(self, expected: Mapping[str, str | Sequence[str]]) -> list[str]:
        faults = []
        for name, wanted in expected.items():
            pod = self.pod(name)
            allowed = [wanted] if isinstance(wanted, str) else list(wanted)
            if pod is None or pod.node not in allowed:
                faults.append(f"expected {name} on {' or '.join(allowed)}, it is {self.describe(name)}")
        return faults

    def same_domain(self, expected: Sequence[Mapping[str, Any]]) -> list[str]:
        faults = []
        for group in expected:
            values = {name: self._label(name, group["key"]) for name in group["pods"]}
            if None in values.values() or len(set(values.values())) != 1:
                faults.append(f"expected one value of {group['key']}, got {values}")
        return faults

    def _label(self, name: str, label: str) -> str | None:
        pod = self.pod(name)
        node = None if pod is None or pod.node is None else self.shown("Node", pod.node)
        return None if node is None else node["metadata"].get("labels", {}).get(label)

    def conditions(self, expected: Sequence[Mapping[str, Any]]) -> list[str]:
        faults = []
        for wanted in expected:
            shown = self.shown(wanted["kind"], wanted["name"]) or {}
            found = {each["type"]: each for each in shown.get("status", {}).get("conditions", ())}
            condition = found.get(wanted["type"], {})
            subject = f"{wanted['kind']}/{wanted['name']}"
            faults += [
                f"expected {subject} {wanted['type']} with {part} {wanted[part]!r}, "
                f"got {condition or 'no such condition'}"
                for part in ("status", "reason", "message")
                if part in wanted and condition.get(part, "") != wanted[part]
            ]
        return faults

    def explanations(self, expected: Sequence[Mapping[str, Any]]) -> list[str]:
        faults = []
        for wanted in expected:
            told = self.explanation(wanted["kind"], wanted["name"])
            if wanted["contains"] not in "\n".join(told):
                subject = f"{wanted['kind']}/{wanted['name']}"
                faults.append(f"expected {subject} to explain {wanted['contains']!r}, got {told}")
        return faults

    def explanation(self, kind: str, name: str) -> list[str]:
        """Kubernetes' texts about an object: in its conditions, of a group also in those of the Pods below
        it, and what `why` says, which has the text of a gate as well."""
        found, key = _object(kind, name)
        shown = self.cluster.shown(found, key)
        if shown is None:
            return []
        told, state = [_messages(shown)], self.cluster.state
        if found in (POD_GROUP, COMPOSITE_POD_GROUP):
            leaves = set(state.leaves_of(found.name, key))
            told += [
                _messages(self.shown("Pod", pod.key)) for pod in state.pods.values() if pod.group in leaves
            ]
        explained = why(self.cluster, found, key)
        told += [explained.summary, *(shape.message for shape in explained.shapes)]
        return list(dict.fromkeys(filter(None, told)))

    def active_queue(self, expected: Sequence[str]) -> list[str]:
        now = self.clock.now()
        active = [
            entity.name for lane, entity in self.cluster.state.queue.in_order(now) if lane is Lane.ACTIVE
        ]
        wanted = [f"{kind.name}/{key}" for kind, key in map(_target, expected)]
        return [] if active == wanted else [f"expected the active lane to be {wanted}, it is {active}"]

    def shown(self, kind: str, name: str) -> dict[str, Any] | None:
        return self.cluster.shown(*_object(kind, name))


_STEPS: dict[str, Callable[[_Run, Any], list[str]]] = {
    "apply": _Run.apply,
    "refuse": _Run.refuse,
    "delete": _Run.delete,
    "settle": _Run.settle,
    "advance": _Run.advance,
    "expect": _Run.expect,
}

Manifests: TypeAlias = list[dict[str, Any]]


class _Refusal(TypedDict):
    apply: Manifests
    contains: NotRequired[str | list[str]]
    code: NotRequired[int]


class _Members(TypedDict):
    pods: list[str]


class _InDomain(_Members):
    key: str


class _Named(TypedDict):
    kind: str
    name: str


class _Typed(_Named):
    type: str


class _Told(_Named):
    contains: str


_ARGUMENTS: Mapping[str, Any] = {
    "apply": Manifests,
    "refuse": _Refusal,
    "delete": list[str],
    "settle": dict[str, Any],
    "advance": str,
    "expect": dict[str, Any],
}
"""What a step has to be given at least."""

_EXPECTED: Mapping[str, Any] = {
    "count": list[_Members],
    "nodes": dict[str, str | list[str]],
    "sameDomain": list[_InDomain],
    "conditions": list[_Typed],
    "explain": list[_Told],
}
"""The same of expectations; the others are lists of names."""


def _check(name: str, argument: object) -> None:
    """Raise a ValueError, which says where, if a step cannot have `argument`."""
    given = msgspec.convert(argument, _ARGUMENTS[name])
    if name == "advance":
        span_of(given)
    elif name == "expect":
        for key, value in given.items():
            _check_expected(key, value)


def _check_expected(key: str, value: object) -> None:
    if key not in _EXPECTATIONS:
        raise ValueError(f"unknown expectation {key!r}, must be one of {', '.join(_EXPECTATIONS)}")
    try:
        msgspec.convert(value, _EXPECTED.get(key, list[str]))
    except msgspec.ValidationError as error:
        raise ValueError(f"{key}: {error}") from error


_EXPECTATIONS: dict[str, Callable[[_Run, Any], list[str]]] = {
    "scheduled": lambda run, names: run.all_are("scheduled")(names),
    "gated": lambda run, names: run.all_are("gated")(names),
    "unschedulable": lambda run, names: run.all_are("unschedulable")(names),
    "removed": lambda run, names: run.all_are("removed")(names),
    "count": _Run.counts,
    "nodes": _Run.nodes,
    "sameDomain": _Run.same_domain,
    "conditions": _Run.conditions,
    "explain": _Run.explanations,
    "queue": _Run.active_queue,
}


def _key(name: str) -> str:
    return name if "/" in name else f"default/{name}"


def _target(text: str) -> tuple[Kind, str]:
    """The object that `Kind/name` or `Kind/namespace/name` names."""
    kind, _, name = text.partition("/")
    if not name:
        raise NotFound(f"{text!r} names no object: must be Kind/name or Kind/namespace/name")
    return _object(kind, name)


def _object(kind: str, name: str) -> tuple[Kind, str]:
    """The kind and the key of the object of this name."""
    found = kind_named(kind)
    return found, _key(name) if found.namespaced else name


def _messages(shown: Mapping[str, Any] | None) -> str:
    conditions = (shown or {}).get("status", {}).get("conditions", ())
    return "\n".join(each["message"] for each in conditions if "message" in each)
