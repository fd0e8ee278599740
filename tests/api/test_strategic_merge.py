import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.merge_keys import rules_of
from api.strategic_merge import strategic_merge
from domain.admission.kinds import NODE, POD, POD_DISRUPTION_BUDGET, POD_GROUP, Kind
from domain.errors import BadRequest


def _containers(*names: str, **more: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": name, **more} for name in names]}}


def _taint(key: str, effect: str = "NoSchedule") -> dict[str, str]:
    return {"key": key, "effect": effect}


POD_WITH = {"metadata": {"name": "p", "labels": {"a": "1", "b": "2"}, "finalizers": ["x/1"]}}

MERGES = [
    pytest.param(
        POD,
        POD_WITH,
        {"metadata": {"labels": {"b": None, "c": "3"}}},
        {"metadata": {"name": "p", "labels": {"a": "1", "c": "3"}, "finalizers": ["x/1"]}},
        id="maps are merged, null deletes",
    ),
    pytest.param(
        POD,
        POD_WITH,
        {"metadata": {"finalizers": ["y/1", "x/1"]}},
        {"metadata": {**POD_WITH["metadata"], "finalizers": ["x/1", "y/1"]}},
        id="a set grows",
    ),
    pytest.param(
        POD,
        POD_WITH,
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x/1"]}},
        {"metadata": {**POD_WITH["metadata"], "finalizers": []}},
        id="a set shrinks",
    ),
    pytest.param(
        POD,
        POD_WITH,
        {"metadata": {"finalizers": ["y/1"], "$setElementOrder/finalizers": ["y/1", "x/1"]}},
        {"metadata": {**POD_WITH["metadata"], "finalizers": ["y/1", "x/1"]}},
        id="a set in order",
    ),
    pytest.param(
        POD,
        _containers("a", "b", image="i:1"),
        {"spec": {"containers": [{"name": "b", "image": "i:2"}, {"name": "c", "image": "i:3"}]}},
        {
            "spec": {
                "containers": [
                    {"name": "a", "image": "i:1"},
                    {"name": "b", "image": "i:2"},
                    {"name": "c", "image": "i:3"},
                ]
            }
        },
        id="containers by name",
    ),
    pytest.param(
        POD,
        _containers("a", env=[{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]),
        {"spec": {"containers": [{"name": "a", "env": [{"name": "X", "$patch": "delete"}]}]}},
        _containers("a", env=[{"name": "Y", "value": "2"}]),
        id="an item is deleted, far inside",
    ),
    pytest.param(
        POD,
        _containers("a", "b"),
        {"spec": {"containers": [{"$patch": "replace"}, {"name": "c"}]}},
        _containers("c"),
        id="a list is replaced",
    ),
    pytest.param(
        POD,
        _containers("a", "b", "x"),
        {
            "spec": {
                "$setElementOrder/containers": [{"name": "c"}, {"name": "b"}, {"name": "a"}],
                "containers": [{"name": "c"}],
            }
        },
        _containers("x", "c", "b", "a"),
        id="items in the order that is asked for",
    ),
    pytest.param(
        POD,
        _containers("a", "x", "b"),
        {"spec": {"$setElementOrder/containers": [{"name": "a"}, {"name": "b"}]}},
        _containers("a", "x", "b"),
        id="an item that the order does not list stays between",
    ),
    pytest.param(
        POD,
        {"spec": {"tolerations": [{"key": "a"}]}},
        {"spec": {"tolerations": [{"key": "b"}]}},
        {"spec": {"tolerations": [{"key": "b"}]}},
        id="tolerations as a whole",
    ),
    pytest.param(
        NODE,
        {"spec": {"taints": [_taint("a")]}},
        {"spec": {"taints": [_taint("b")]}},
        {"spec": {"taints": [_taint("b")]}},
        id="taints as a whole",
    ),
    pytest.param(
        NODE,
        {"spec": {"taints": [_taint("a")]}},
        {"spec": {"$setElementOrder/taints": [{"key": "b"}], "taints": [_taint("b")]}},
        {"spec": {"taints": [_taint("b")]}},
        id="an order for a list that is no set",
    ),
    pytest.param(
        NODE,
        {"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "r"}, {"type": "Full"}]}},
        {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
        {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "r"}, {"type": "Full"}]}},
        id="conditions by type",
    ),
    pytest.param(
        POD_DISRUPTION_BUDGET,
        {"spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "1"}}}},
        {"spec": {"selector": {"matchLabels": {"b": "2"}}}},
        {"spec": {"minAvailable": 1, "selector": {"matchLabels": {"b": "2"}}}},
        id="a selector as a whole",
    ),
    pytest.param(
        POD_GROUP,
        {"spec": {"schedulingConstraints": {"topology": [{"key": "a"}]}, "priority": 1}},
        {"spec": {"$patch": "replace", "priority": 2}},
        {"spec": {"priority": 2}},
        id="an object is replaced",
    ),
    pytest.param(
        POD_GROUP,
        {"spec": {"disruptionMode": {"all": {}}}},
        {"spec": {"disruptionMode": {"$patch": "delete"}}},
        {"spec": {"disruptionMode": {}}},
        id="an object is emptied",
    ),
    pytest.param(
        POD_GROUP,
        {"spec": {"disruptionMode": {"all": {}}}},
        {"spec": {"disruptionMode": {"$retainKeys": ["single"], "single": {}}}},
        {"spec": {"disruptionMode": {"single": {}}}},
        id="only some keys are kept",
    ),
    pytest.param(
        POD,
        {"spec": {}},
        {
            "spec": {
                "$setElementOrder/containers": [{"name": "a"}],
                "containers": [{"name": "a", "image": None, "resources": {"$patch": "replace"}}],
                "volumes": [{"name": "v", "$patch": "delete"}],
            }
        },
        {"spec": {"containers": [{"name": "a", "resources": {}}], "volumes": []}},
        id="no directive stays where nothing was",
    ),
    pytest.param(POD, {"spec": {"a": 1}}, {"spec": "text"}, {"spec": "text"}, id="another type"),
]


@pytest.mark.parametrize(("kind", "current", "patch", "expected"), MERGES)
def test_what_a_patch_makes_of_an_object(kind: Kind, current: Any, patch: Any, expected: Any) -> None:
    before = copy.deepcopy((current, patch))
    assert strategic_merge(current, patch, rules_of(kind)) == expected
    assert (current, patch) == before


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        pytest.param(
            {"spec": {"containers": [{"image": "i"}]}},
            "map: {'image': 'i'} does not contain declared merge key: name",
            id="an item without its key",
        ),
        pytest.param(
            {"spec": {"containers": ["a"]}}, "the element in the list is no object", id="an item that is none"
        ),
        pytest.param(
            {"spec": {"$patch": "mend"}},
            "unknown patch type 'mend' in map: {'$patch': 'mend'}",
            id="directive",
        ),
        pytest.param(
            {"spec": {"containers": [{"name": "a", "$patch": "merge"}]}},
            "unknown patch type 'merge' in map: {'name': 'a', '$patch': 'merge'}",
            id="directive of an item",
        ),
        pytest.param(
            {"metadata": {"$deleteFromPrimitiveList/finalizers": [{}]}},
            "invalid patch format of primitive list",
            id="deletion of what is no scalar",
        ),
        pytest.param(
            {"spec": {"$setElementOrder/containers": "a"}},
            "invalid patch format of setElementOrder list",
            id="order",
        ),
        pytest.param(
            {"spec": {"$retainKeys": ["a"], "b": 1}}, "invalid patch format of retainKeys", id="kept keys"
        ),
    ],
)
def test_what_is_no_patch(patch: Any, said: str) -> None:
    current = {"metadata": {"finalizers": ["x/1"]}, "spec": {"containers": [{"name": "a"}]}}
    with pytest.raises(BadRequest) as refused:
        strategic_merge(current, patch, rules_of(POD))
    assert str(refused.value) == said


NAMES = st.sampled_from(["a", "b", "c", "d"])
ITEMS = st.lists(
    st.fixed_dictionaries({"name": NAMES, "image": st.sampled_from(["i:1", "i:2"])}),
    max_size=4,
    unique_by=lambda item: item["name"],
)


@given(live=ITEMS, wanted=ITEMS)
def test_the_patch_that_kubectl_would_send_leads_to_what_is_wanted(live: Any, wanted: Any) -> None:
    names = [item["name"] for item in wanted]
    gone = [{"name": item["name"], "$patch": "delete"} for item in live if item["name"] not in names]
    order = [{"name": name} for name in names]
    patch = {"spec": {"containers": wanted + gone, "$setElementOrder/containers": order}}
    current = {"spec": {"containers": live}}
    assert strategic_merge(current, patch, rules_of(POD)) == {"spec": {"containers": wanted}}


@given(live=ITEMS)
def test_a_patch_with_what_is_there_changes_nothing(live: Any) -> None:
    current = {"spec": {"containers": live}, "metadata": {"finalizers": ["x/1", "y/2"]}}
    assert strategic_merge(current, current, rules_of(POD)) == current
