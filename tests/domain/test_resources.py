"""What a Pod asks for. The rows follow KEP-753 (sidecars) and KEP-2837 (pod-level resources)."""

from typing import Any

import pytest
from hypothesis import given

from clusters import Manifest, pods
from domain.resources import UNSTATED, amounts_of, effective_requests
from reference.amounts import requested, requested_when_scored


def main(**requests: Any) -> Manifest:
    return {"name": "main", "resources": {"requests": requests}}


def sidecar(**requests: Any) -> Manifest:
    return {**main(**requests), "restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {"containers": [main(cpu="1"), main(cpu="500m")]}, {"cpu": 1500}, id="containers add up"
        ),
        pytest.param(
            {"containers": [main(cpu="1")], "initContainers": [main(cpu="4"), main(cpu="2")]},
            {"cpu": 4000},
            id="init containers run one by one",
        ),
        pytest.param(
            {"containers": [main(cpu="2")], "initContainers": [main(cpu="4"), sidecar(cpu="1")]},
            {"cpu": 4000},
            id="a sidecar behind an init container does not add to it",
        ),
        pytest.param(
            {"containers": [main(cpu="2")], "initContainers": [sidecar(cpu="1"), main(cpu="4")]},
            {"cpu": 5000},
            id="a sidecar before an init container does",
        ),
        pytest.param(
            {"containers": [main(cpu="4")], "initContainers": [sidecar(cpu="1"), main(cpu="3")]},
            {"cpu": 5000},
            id="containers and sidecars run together",
        ),
        pytest.param(
            {
                "containers": [main(memory="1Gi")],
                "initContainers": [main(cpu="2"), sidecar(memory="1Gi")],
            },
            {"cpu": 2000, "memory": 2 * 2**30},
            id="each resource by itself",
        ),
        pytest.param(
            {
                "containers": [main(cpu="2", memory="1Gi", **{"nvidia.com/gpu": "1"})],
                "resources": {"requests": {"cpu": "1", "nvidia.com/gpu": "8"}},
                "overhead": {"cpu": "250m"},
            },
            {"cpu": 1250, "memory": 2**30, "nvidia.com/gpu": 1},
            id="the Pod's own word counts for cpu, and overhead comes on top",
        ),
        pytest.param(
            {"containers": [main(cpu="0", **{"nvidia.com/gpu": 0})]}, {}, id="nothing of a resource is none"
        ),
        pytest.param({"containers": [main()]}, {}, id="no requests"),
        pytest.param(
            {"containers": [main(memory="500m"), main(memory="500m")]},
            {"memory": 1},
            id="fractions are rounded up after adding",
        ),
        pytest.param({"containers": [main(memory="0.5")]}, {"memory": 1}, id="half a byte is one"),
        pytest.param(
            {"containers": [main(memory="8Ei"), main(memory="8Ei")]}, {"memory": 2**64}, id="no upper bound"
        ),
    ],
)
def test_effective_requests(spec: Manifest, expected: dict[str, int]) -> None:
    assert effective_requests(spec) == expected


@pytest.mark.parametrize(
    ("spec", "cpu", "memory"),
    [
        pytest.param({"containers": [main(), main(cpu="1")]}, 1100, 400 * 2**20, id="per container"),
        pytest.param({"containers": [main(cpu="0", memory="0")]}, 0, 0, id="0 is a statement"),
        pytest.param(
            {"containers": [main(cpu="50m")], "initContainers": [main(memory="1Gi")]},
            100,
            2**30,
            id="init containers too",
        ),
        pytest.param(
            {"containers": [main(), main()], "resources": {"requests": {"cpu": "1"}}},
            1000,
            400 * 2**20,
            id="what the Pod requests as a whole is stated",
        ),
    ],
)
def test_what_is_not_stated_counts_in_scores(spec: Manifest, cpu: int, memory: int) -> None:
    scored = effective_requests(spec, unstated=UNSTATED)
    assert (scored.get("cpu", 0), scored.get("memory", 0)) == (cpu, memory)


@given(pods())
def test_effective_requests_follow_the_rules(pod: Manifest) -> None:
    assert effective_requests(pod["spec"]) == requested(pod)
    scored = effective_requests(pod["spec"], unstated=UNSTATED)
    expected = requested_when_scored(pod)
    assert {name: scored.get(name, 0) for name in expected} == expected


def test_amounts_are_in_base_units() -> None:
    assert amounts_of({"memory": "1.5Ki", "cpu": "1.5", "pods": 110}) == {
        "cpu": 1500,
        "memory": 1536,
        "pods": 110,
    }
