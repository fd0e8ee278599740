"""Decisions follow the profile of their scheduler, from where the log configures it on."""

import pytest

from build import Manifest, Story, group, node, pod
from domain import events as ev
from domain.profile import Profile, Weights
from domain.state import decode_state, encode_state

PACKED = Profile(strategy="MostAllocated", weights=Weights(balanced_allocation=0))
ANYWHERE = Profile(disabled_filters=("NodeResourcesFit",))
TAINTED = [{"key": "k", "value": "", "effect": "NoSchedule"}]


def configured(**profiles: Profile) -> ev.SchedulerConfigured:
    """Schedulers by name, beside the default one."""
    names = ("default-scheduler", *profiles)
    return ev.SchedulerConfigured(scheduler_names=names, profiles=(Profile(), *profiles.values()))


def nodes_of(story: Story) -> dict[str, str | None]:
    return {pod.key.partition("/")[2]: pod.node for pod in story.state.pods.values()}


def gang(name: str, size: int, **spec: object) -> list[Manifest]:
    members = [pod(f"{name}-{n}", cpu="1", memory="1Gi", group=name, **spec) for n in range(size)]
    return [group(name, size), *members]


def test_every_scheduler_places_by_its_own_profile() -> None:
    story = Story(node("n1"), node("n2")).append(configured(packed=PACKED))
    story.add(*gang("spread", 2), *gang("packed", 2, schedulerName="packed")).decide()
    assert nodes_of(story) == {"spread-0": "n1", "spread-1": "n2", "packed-0": "n1", "packed-1": "n1"}


def test_a_new_configuration_holds_for_what_is_decided_after_it() -> None:
    story = Story(node("n1"), node("n2"), *gang("a", 2)).decide()
    story.append(ev.SchedulerConfigured(profiles=(PACKED,)))
    story.add(*gang("b", 2)).decide()
    story.append(ev.SchedulerConfigured())
    story.add(*gang("c", 2)).decide()
    assert [nodes_of(story)[f"{name}-{n}"] for name in "abc" for n in range(2)] == [
        "n1", "n2", "n1", "n1", "n2", "n2",
    ]  # fmt: skip


def test_a_refused_gang_is_tried_again_when_a_filter_is_switched_off() -> None:
    story = Story(node("n1", taints=TAINTED), *gang("g", 2)).decide()
    assert set(nodes_of(story).values()) == {None}
    story.append(ev.SchedulerConfigured(profiles=(Profile(disabled_filters=("TaintToleration",)),)))
    story.wait(60).decide()
    assert set(nodes_of(story).values()) == {"n1"}


def test_preemption_and_its_rerun_go_by_the_profile() -> None:
    """Without NodePorts nobody is in the way of the port, so that nobody is evicted for it."""
    port = [{"containerPort": 80, "hostPort": 80}]
    story = Story(node("n1"), pod("low", ports=port, node="n1"))
    story.append(configured(careless=Profile(disabled_filters=("NodePorts",))))
    story.add(pod("high", ports=port, priority=10, schedulerName="careless")).decide()
    assert nodes_of(story) == {"low": "n1", "high": "n1"}
    assert not any(isinstance(event.payload, ev.PodEvicted) for event in story.events)


def test_a_snapshot_keeps_the_profiles() -> None:
    story = Story(node("n1")).append(configured(packed=PACKED, anywhere=ANYWHERE))
    again = decode_state(encode_state(story.state))
    assert again.config == story.state.config
    assert encode_state(again) == encode_state(story.state)


@pytest.mark.parametrize(
    ("plugin", "proof"),
    [pytest.param(None, "infeasible", id="on"), pytest.param("NodeResourcesFit", "notFound", id="off")],
)
def test_no_sum_of_resources_proves_anything_where_they_are_not_filtered_by(
    plugin: str | None, proof: str
) -> None:
    """On a node that nobody may use, a Pod that asks for more than there is."""
    story = Story(node("n1", cpu="1", unschedulable=True), pod("a", cpu="2"))
    story.append(ev.SchedulerConfigured(profiles=(Profile(disabled_filters=(plugin,) if plugin else ()),)))
    told = story.decide().why("Pod/default/a")
    assert told.verdict == "Unschedulable"
    assert ("the whole cluster has" in str(told.proof_by)) == (proof == "infeasible")
