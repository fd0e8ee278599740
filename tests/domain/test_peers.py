"""Rules about other Pods as they are read from a manifest, and which Pods they are about."""

from typing import Any

import pytest

from domain.peers import Peer, PodTerm, WeightedPodTerm, near, peer_of, spread_of, spread_over
from domain.selectors import Requirement, label_selector_of, selects

Manifest = dict[str, Any]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
LABELS = {"app": "web", "version": "2"}
WEB = Requirement("app", "In", ("web",))


def term(**fields: Any) -> Manifest:
    return {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}, **fields}


def read(**fields: Any) -> PodTerm:
    """The only required affinity term of a Pod with LABELS in namespace `here`."""
    peer = peer_of({"affinity": {"podAffinity": {REQUIRED: [term(**fields)]}}}, "here", LABELS)
    assert peer.terms is not None
    (only,) = peer.terms.affinity
    return only


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, PodTerm("zone", (WEB,), ("here",), None), id="its own namespace"),
        pytest.param(
            {"namespaces": ["b", "a"]}, PodTerm("zone", (WEB,), ("a", "b"), None), id="a list of namespaces"
        ),
        pytest.param(
            {"namespaceSelector": {}}, PodTerm("zone", (WEB,), (), ()), id="every namespace, and no default"
        ),
        pytest.param({"labelSelector": None}, PodTerm("zone", None, ("here",), None), id="nothing"),
        pytest.param({"labelSelector": {}}, PodTerm("zone", (), ("here",), None), id="everything"),
        pytest.param(
            {"matchLabelKeys": ["version", "missing"]},
            PodTerm("zone", (WEB, Requirement("version", "In", ("2",))), ("here",), None),
            id="labels to share",
        ),
        pytest.param(
            {"mismatchLabelKeys": ["version", "missing"]},
            PodTerm("zone", (WEB, Requirement("version", "NotIn", ("2",))), ("here",), None),
            id="labels to differ in",
        ),
        pytest.param(
            {"labelSelector": None, "matchLabelKeys": ["version"]},
            PodTerm("zone", None, ("here",), None),
            id="nothing stays nothing",
        ),
    ],
)
def test_a_term_is_read_with_its_pod(fields: Manifest, expected: PodTerm) -> None:
    assert read(**fields) == expected


def test_dislike_is_a_negative_weight() -> None:
    rules = {PREFERRED: [{"weight": 7, "podAffinityTerm": term()}]}
    peer = peer_of({"affinity": {"podAffinity": rules, "podAntiAffinity": rules}}, "here", {})
    assert peer.terms is not None
    assert peer.terms.preferred == (WeightedPodTerm(7, read()), WeightedPodTerm(-7, read()))


@pytest.mark.parametrize(
    ("fields", "namespace", "labels", "expected"),
    [
        pytest.param({}, "here", {"app": "web"}, True, id="own namespace"),
        pytest.param({}, "there", {"app": "web"}, False, id="another namespace"),
        pytest.param({}, "here", {"app": "db"}, False, id="other labels"),
        pytest.param({"namespaces": ["there"]}, "there", {"app": "web"}, True, id="named"),
        pytest.param({"namespaces": ["there"]}, "here", {"app": "web"}, False, id="a list has no default"),
        pytest.param({"namespaceSelector": {}}, "anywhere", {"app": "web"}, True, id="all namespaces"),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"team": "a"}}}, "blue", {"app": "web"}, True, id="labelled"
        ),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"team": "a"}}},
            "red",
            {"app": "web"},
            False,
            id="unlabelled",
        ),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"team": "b"}}, "namespaces": ["red"]},
            "red",
            {"app": "web"},
            True,
            id="named beside a selector",
        ),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "red"}}},
            "red",
            {"app": "web"},
            True,
            id="every namespace has its name as a label",
        ),
        pytest.param(
            {"labelSelector": None}, "here", {"app": "web"}, False, id="no selector selects nothing"
        ),
        pytest.param({"labelSelector": {}}, "here", {}, True, id="an empty one everything"),
    ],
)
def test_whom_a_term_is_about(
    fields: Manifest, namespace: str, labels: dict[str, str], expected: bool
) -> None:
    peer = Peer(namespace=namespace, labels=tuple(labels.items()))
    assert near(read(**fields), peer, {"blue": {"team": "a"}}) is expected


@pytest.mark.parametrize(
    ("expression", "with_app", "without"),
    [
        pytest.param({"operator": "In", "values": ["web"]}, True, False, id="in"),
        pytest.param({"operator": "In", "values": ["db"]}, False, False, id="not among"),
        pytest.param({"operator": "NotIn", "values": ["web"]}, False, True, id="not in, also without it"),
        pytest.param({"operator": "Exists"}, True, False, id="exists"),
        pytest.param({"operator": "DoesNotExist"}, False, True, id="does not exist"),
    ],
)
def test_operators(expression: Manifest, with_app: bool, without: bool) -> None:
    selector = label_selector_of({"matchExpressions": [{"key": "app", **expression}]})
    assert selects(selector, {"app": "web"}) is with_app
    assert selects(selector, {}) is without


def test_equal_selectors_are_equal() -> None:
    written = {
        "matchLabels": {"a": "1"},
        "matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}],
    }
    assert label_selector_of(written) == label_selector_of({"matchLabels": {"a": "1"}})


@pytest.mark.parametrize(
    ("peer", "expected"),
    [
        pytest.param(Peer(namespace="here", labels=(("app", "web"),)), True, id="one of them"),
        pytest.param(Peer(namespace="there", labels=(("app", "web"),)), False, id="elsewhere"),
        pytest.param(Peer(namespace="here", labels=()), False, id="other labels"),
        pytest.param(Peer(namespace="here", labels=(("app", "web"),), leaving=True), False, id="leaving"),
    ],
)
def test_whom_a_spread_counts(peer: Peer, expected: bool) -> None:
    (constraint,) = spread_of(
        {"topologySpreadConstraints": [term(maxSkew=1, whenUnsatisfiable="DoNotSchedule")]}, LABELS
    )
    assert spread_over(constraint, "here", peer) is expected


def test_a_spread_has_defaults() -> None:
    written = term(maxSkew=2, whenUnsatisfiable="ScheduleAnyway", matchLabelKeys=["version"])
    (constraint,) = spread_of({"topologySpreadConstraints": [written]}, LABELS)
    assert not constraint.hard
    assert constraint.selector == (WEB, Requirement("version", "In", ("2",)))
    assert (constraint.max_skew, constraint.least_domains) == (2, 1)
    assert (constraint.honors_affinity, constraint.honors_taints) == (True, False)
