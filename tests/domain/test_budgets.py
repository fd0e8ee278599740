"""PodDisruptionBudgets: whom they protect, and what a disruption controller counts."""

import pytest

from build import Manifest
from domain.budgets import Counted, allowance, budget_of, counted
from domain.events import Deletion
from domain.objects import Exceptions, Pod, PodSpec
from domain.peers import Peer
from domain.shapes import PodShape

GONE = Deletion(at=0, grace=0)


def pod(name: str, *, phase: str = "Running", deletion: Deletion | None = None, **labels: str) -> Pod:
    peer = Peer(namespace="default", labels=tuple(sorted(labels.items())))
    spec = PodSpec(PodShape(), peer, 0, "Never", "default-scheduler", gates=(), grace=30)
    return Pod(
        key=f"default/{name}",
        kept_uid=name,
        spec=spec,
        group=None,
        node="n1",
        phase=phase,
        arrival=1,
        manifest=1,
        revision=1,
        created_us=0,
        queued_us=0,
        exceptions=Exceptions(deletion=deletion),
    )


def expression(operator: str, *values: str) -> Manifest:
    return {"matchExpressions": [{"key": "app", "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("selector", "protected"),
    [
        pytest.param(None, "", id="no selector"),
        pytest.param({}, "", id="empty selector"),
        pytest.param({"matchLabels": {"app": "a"}}, "a", id="label"),
        pytest.param({"matchLabels": {"app": "a", "tier": "x"}}, "", id="one label of two"),
        pytest.param(expression("In", "a", "b"), "ab", id="In"),
        pytest.param(expression("NotIn", "a"), "b-", id="NotIn, without the label too"),
        pytest.param(expression("Exists"), "ab", id="Exists"),
        pytest.param(expression("DoesNotExist"), "-", id="DoesNotExist"),
    ],
)
def test_whom_a_budget_protects(selector: Manifest | None, protected: str) -> None:
    budget = budget_of("default/k", {"spec": {} if selector is None else {"selector": selector}})
    pods = {"a": pod("a", app="a"), "b": pod("b", app="b"), "-": pod("c")}
    assert "".join(name for name, one in pods.items() if budget.protects(one)) == protected


def test_a_budget_protects_in_its_own_namespace_only() -> None:
    budget = budget_of("other/k", {"spec": {"selector": {"matchLabels": {"app": "a"}}}})
    assert not budget.protects(pod("a", app="a"))


@pytest.mark.parametrize(
    ("spec", "allowed", "desired"),
    [
        pytest.param({"minAvailable": 2}, 1, 2, id="a minimum"),
        pytest.param({"minAvailable": 5}, 0, 5, id="a minimum out of reach"),
        pytest.param({"minAvailable": "50%"}, 0, 3, id="half of five, rounded up"),
        pytest.param({"minAvailable": "20%"}, 2, 1, id="a fifth of five"),
        pytest.param({"maxUnavailable": 3}, 1, 2, id="a maximum"),
        pytest.param({"maxUnavailable": "50%"}, 1, 2, id="half may go, rounded up"),
        pytest.param({"maxUnavailable": 9}, 3, 0, id="all may go"),
        pytest.param({}, 3, 0, id="nothing asked for"),
    ],
)
def test_what_the_controller_counts(spec: Manifest, allowed: int, desired: int) -> None:
    """Five are expected: three that run, one that starts, one that ends; a sixth has ended."""
    pods = [
        *(pod(f"run-{number}", app="a") for number in range(3)),
        pod("starts", phase="Pending", app="a"),
        pod("ends", deletion=GONE, app="a"),
        pod("ended", phase="Succeeded", app="a"),
        pod("other", app="b"),
    ]
    budget = budget_of("default/k", {"spec": {"selector": {"matchLabels": {"app": "a"}}, **spec}})
    by_key = {one.key: one for one in pods}
    assert counted(budget, by_key) == Counted(allowed, healthy=3, desired=desired, expected=5)
    assert allowance(budget, by_key) == allowed


def test_a_written_status_counts_for_more() -> None:
    manifest = {"spec": {"minAvailable": 1}, "status": {"disruptionsAllowed": 7}}
    assert allowance(budget_of("default/k", manifest), {}) == 7


def test_no_disruption_is_allowed_of_nobody() -> None:
    selector = {"matchLabels": {"app": "a"}}
    budget = budget_of("default/k", {"spec": {"maxUnavailable": 3, "selector": selector}})
    assert counted(budget, {}).allowed == 0
