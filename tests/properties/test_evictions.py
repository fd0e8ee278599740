"""What holds of every eviction, in small crowded clusters with random priorities, groups and budgets."""

from collections.abc import Sequence
from itertools import count
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from books import Book, lost_wake_ups
from build import Manifest, group, node, pod
from domain import events as ev
from domain.reducer import fold
from domain.scheduling.cycle import Decision, decide
from domain.scheduling.units import unit_priority
from domain.state import State, decode_state, encode_state
from promises import check_not_in_vain

CLASSES = {"low": 10, "mid": 20, "high": 30}
NODES = ("n0", "n1", "n2")
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def _class(name: str) -> Manifest:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": CLASSES[name],
    }


def _budget(name: str, app: str, least: int | str) -> Manifest:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minAvailable": least, "selector": {"matchLabels": {"app": app}}},
    }


def _rule(kind: str, app: str, key: str) -> Manifest:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _evenly(app: str, key: str) -> Manifest:
    rule = {"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**rule, "labelSelector": {"matchLabels": {"app": app}}}]}


RULES: list[Manifest] = [
    *(_rule("podAntiAffinity", app, key) for app in "xyz" for key in (HOST, HOST, ZONE)),
    *(_rule("podAffinity", app, key) for app in "xy" for key in (HOST, ZONE)),
    *(_evenly(app, key) for app in "xy" for key in (HOST, ZONE)),
]


class Crowd:
    """Random things that happen to a cluster with little room. A Pod has rules about others with a
    chance of `rules`."""

    def __init__(self, random: Random, rules: float = 0) -> None:
        self._random = random
        self._rules = rules
        self._numbers = count()
        self.book = Book(*map(_class, CLASSES), *(self._node(name) for name in NODES))

    def happen(self) -> None:
        """One thing more."""
        random, book = self._random, self.book
        match random.randrange(9):
            case 0 | 1 | 2:
                book.apply(self._gang())
            case 3 | 4:
                book.apply([self._pod(random.choice(list(CLASSES)))])
            case 5 if book.state.pods:
                book.delete("Pod", random.choice(sorted(book.state.pods)))
            case 6:
                book.apply([self._node(random.choice(NODES))])
            case 7 if len(book.state.node_records) > 1:
                book.delete("Node", random.choice(sorted(book.state.node_records)))
            case 8:
                name = f"b{next(self._numbers)}"
                book.apply([_budget(name, random.choice("xy"), random.choice([1, 2, "50%"]))])
            case _:
                book.wait(random.choice([1, 7]))

    def _node(self, name: str) -> Manifest:
        cpu, slots = self._random.choice(["2", "3", "4"]), self._random.choice([3, 110])
        return node(name, cpu=cpu, pods=slots, labels={ZONE: "b" if name == "n2" else "a"})

    def _gang(self) -> list[Manifest]:
        random = self._random
        name, priority = f"g{next(self._numbers)}", random.choice(list(CLASSES))
        size = random.randint(1, 4)
        mode: Manifest = random.choice([{"single": {}}, {"all": {}}])
        least = random.choice([None, *range(1, size + 1)])
        spec: Manifest = {"priorityClassName": priority, "disruptionMode": mode}
        pods = [self._pod(priority, group=name) for _ in range(size)]
        return [group(name, least, **spec), *pods]

    def _pod(self, priority: str, **more: str) -> Manifest:
        random = self._random
        made = pod(
            f"p{next(self._numbers)}",
            cpu=random.choice(["500m", "1", "1", "2"]),
            priorityClassName=priority,
            terminationGracePeriodSeconds=random.choice([0, 5, 30]),
            ports=random.choice([[], [], [], [{"containerPort": 80, "hostPort": 80}]]),
            **more,
        )
        made["metadata"]["labels"] = {"app": random.choice("xyz")}
        if random.random() < self._rules:
            made["spec"].update(random.choice(RULES))
        return made


def _check(before: State, decision: Decision, after: State, now: int) -> None:
    """Hold `decision`, made on `before` and folded to `after`, to what every eviction promises."""
    attempt = decision.attempt
    assert decide(decode_state(encode_state(before)), now) == decision
    evicted = [payload for payload in decision.payloads if isinstance(payload, ev.PodEvicted)]
    if not attempt.victims:
        assert not evicted
        return
    assert attempt.outcome == "waitingOnPreemption"
    rank = before.queue.entities[attempt.entity].priority
    for key in attempt.victims:
        victim = before.pods[key]
        assert unit_priority(before, victim) < rank
        found = None if victim.group is None else before.groups.get(victim.group)
        if evicted and found is not None and found.disrupted_whole:
            assert set(before.members_of(found.key).bound) <= set(attempt.victims)
    ending = {key for key in attempt.victims if before.pods[key].deletion is not None}
    assert {eviction.pod for eviction in evicted} in (set(attempt.victims) - ending, set())
    if evicted:
        check_not_in_vain(after, attempt, now)


def _decide_all(book: Book) -> None:
    book.let_nodes_act()
    while True:
        before = book.state.copy()
        decision = book.cycle()
        if decision is None:
            return
        _check(before, decision, book.state, book.now)


def _rest(book: Book) -> None:
    while True:
        _decide_all(book)
        moments: Sequence[int | None] = (book.kubelet.next_due(book.state), book.state.queue.next_due())
        due = min((moment for moment in moments if moment is not None), default=None)
        if due is None:
            return
        book.now = max(book.now, due)


def check_crowd(random: Random, steps: int, rules: float) -> Book:
    crowd = Crowd(random, rules)
    for _ in range(steps):
        crowd.happen()
        if random.random() < 0.6:
            _decide_all(crowd.book)
        if random.random() < 0.3:
            _rest(crowd.book)
            assert lost_wake_ups(crowd.book.state, crowd.book.now) == []
    _rest(crowd.book)
    assert lost_wake_ups(crowd.book.state, crowd.book.now) == []
    assert encode_state(crowd.book.state) == encode_state(fold(State(), crowd.book.events))
    return crowd.book


@pytest.mark.parametrize("rules", [pytest.param(0, id="no rules"), pytest.param(0.3, id="rules")])
@given(random=st.randoms(use_true_random=False), steps=st.integers(1, 12))
def test_nobody_is_evicted_in_vain_and_nobody_rests_who_could_evict(
    random: Random, steps: int, rules: float
) -> None:
    check_crowd(random, steps, rules)


@pytest.mark.parametrize("mode", ["single", "all"])
def test_a_crowd_does_evict(mode: str) -> None:
    """The property above would hold of a scheduler that evicts nobody."""
    book = Book(*map(_class, CLASSES), node("n0", cpu="2"))
    book.apply([group("low", 1, priorityClassName="low", disruptionMode={mode: {}})])
    book.apply([pod(f"low-{number}", cpu="1", group="low", priorityClassName="low") for number in range(2)])
    _rest(book)
    book.apply([pod("boss", cpu="1", priorityClassName="high")])
    _rest(book)
    gone = [event.payload.pod for event in book.events if isinstance(event.payload, ev.PodEvicted)]
    assert gone == (["default/low-1"] if mode == "single" else ["default/low-0", "default/low-1"])
    assert book.state.pods["default/boss"].node == "n0"
