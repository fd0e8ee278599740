"""A decision made under rules about other Pods stands only while nobody whom they could see changed."""

import pytest

from build import Manifest, Story, fact, node, pod
from domain import events as ev
from domain.conflict import stands
from domain.scheduling.cycle import decide

REPELS = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}
        ]
    }
}
RULED = [node("n1"), node("n2"), pod("p", affinity=REPELS)]
PLAIN = [node("n1"), node("n2"), pod("p")]
WITH_OTHERS = [*PLAIN, pod("rude", affinity=REPELS), pod("kind")]
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": {"team": "x"}}}
ELSEWHERE = pod("q", node="n2")


def bound(name: str, uid: str | None = None) -> ev.Payload:
    return ev.PodBound(pod=f"default/{name}", uid=uid or f"uid-of-{name}", node="n2")


@pytest.mark.parametrize(
    ("world", "payload", "expected"),
    [
        pytest.param(RULED, fact(ELSEWHERE), False, id="a Pod comes to another node"),
        pytest.param(PLAIN, fact(ELSEWHERE), True, id="without rules it does not matter"),
        pytest.param(PLAIN, fact(pod("q", node="n2", affinity=REPELS)), False, id="it brings rules"),
        pytest.param(RULED, fact(pod("q")), True, id="a Pod comes and waits"),
        pytest.param(WITH_OTHERS, bound("kind"), True, id="another worker binds a Pod without rules"),
        pytest.param(WITH_OTHERS, bound("rude"), False, id="another worker binds a Pod with rules"),
        pytest.param(WITH_OTHERS, bound("new"), False, id="another worker binds a Pod that came since"),
        pytest.param(
            WITH_OTHERS, bound("kind", uid="other"), False, id="another worker binds a Pod made again since"
        ),
        pytest.param(RULED, fact(ELSEWHERE, "Updated"), False, id="a Pod elsewhere is relabelled"),
        pytest.param(RULED, ev.PodDeleted(key="default/q", uid="u", node="n2"), False, id="one goes"),
        pytest.param(RULED, ev.PodDeleted(key="default/q", uid="u"), True, id="one goes that waited"),
        pytest.param(RULED, fact(node("n3")), False, id="a node comes"),
        pytest.param(PLAIN, fact(node("n3")), True, id="a node comes, without rules"),
        pytest.param(RULED, fact(NAMESPACE), False, id="a namespace comes"),
        pytest.param(PLAIN, fact(NAMESPACE), True, id="a namespace comes, without rules"),
    ],
)
def test_stands(world: list[Manifest], payload: ev.Payload, expected: bool) -> None:
    story = Story(*world)
    decision = decide(story.state, story.now)
    assert decision is not None
    assert decision.nodes == {"n1"}
    assert stands(decision, ev.Event(story.state.position + 1, story.now, payload), story.state) is expected
