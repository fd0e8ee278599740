from typing import Any

import msgspec
import pytest
from hypothesis import given

from build import GPU, pod
from clusters import Manifest, pods
from domain.host_ports import HostPort
from domain.peers import Peer, PodTerm, PodTerms
from domain.selectors import Preference, Requirement, Term
from domain.shapes import PodShape, shape_of
from domain.taints import Toleration

IN_A = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
TERM_A = Term((Requirement("zone", "In", ("a",)),), ())
POD_TERM = {"labelSelector": {}, "topologyKey": "zone"}


@given(pods())
def test_a_shape_survives_being_stored(manifest: Manifest) -> None:
    shape = shape_of(manifest["spec"])
    for codec in (msgspec.msgpack, msgspec.json):
        again = codec.decode(codec.encode(shape), type=PodShape)
        assert again == shape
        assert hash(again) == hash(shape)


@pytest.mark.parametrize(
    ("spec", "field", "expected"),
    [
        pytest.param({}, "requests", (), id="no requests"),
        pytest.param(
            {"tolerations": [{"key": "k"}, {"operator": "Exists"}, {"key": "k", "operator": "Equal"}]},
            "tolerations",
            (Toleration("", "Exists", "", ""), Toleration("k", "Equal", "", "")),
            id="tolerations in an order of their own, each once",
        ),
        pytest.param(
            {"nodeSelector": {"b": "2", "a": "1"}}, "node_selector", (("a", "1"), ("b", "2")), id="selector"
        ),
        pytest.param({"affinity": {"nodeAffinity": {}}}, "required", None, id="nothing required"),
        pytest.param(
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}
                    }
                }
            },
            "required",
            (),
            id="no term, which no node meets",
        ),
        pytest.param(
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [IN_A]}
                    }
                }
            },
            "required",
            (TERM_A,),
            id="required terms",
        ),
        pytest.param(
            {
                "affinity": {
                    "nodeAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": IN_A}]
                    }
                }
            },
            "preferred",
            (Preference(5, TERM_A),),
            id="preferred terms",
        ),
        pytest.param(
            {
                "containers": [
                    {"ports": [{"containerPort": 1}, {"containerPort": 2, "hostPort": 2}]},
                    {"ports": [{"hostPort": 2, "hostIP": "10.0.0.1", "protocol": "UDP"}]},
                ],
                "initContainers": [
                    {"ports": [{"hostPort": 3}]},
                    {"ports": [{"hostPort": 4}], "restartPolicy": "Always"},
                ],
            },
            "host_ports",
            (HostPort("TCP", 2, "0.0.0.0"), HostPort("TCP", 4, "0.0.0.0"), HostPort("UDP", 2, "10.0.0.1")),
            id="host ports of containers and sidecars",
        ),
        pytest.param(
            {
                "containers": [{"image": "reg:5000/a"}, {"image": "a:1"}, {"image": "a@sha256:1"}],
                "initContainers": [{}],
            },
            "images",
            ("", "a:1", "a@sha256:1", "reg:5000/a:latest"),
            id="images have a tag",
        ),
        pytest.param({}, "peer", None, id="no rules about other Pods"),
        pytest.param(
            {
                "affinity": {
                    "podAffinity": {},
                    "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []},
                }
            },
            "peer",
            None,
            id="empty rules are none",
        ),
        pytest.param(
            {
                "affinity": {
                    "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [POD_TERM]},
                },
            },
            "peer",
            Peer(
                namespace="default",
                labels=(),
                terms=PodTerms(anti_affinity=(PodTerm("zone", (), ("default",), None),)),
            ),
            id="with rules it has a peer",
        ),
        pytest.param({"nodeName": "n1"}, "node_name", None, id="the node that it has is no part"),
    ],
)
def test_shape_of(spec: Manifest, field: str, expected: Any) -> None:
    assert getattr(shape_of(spec), field) == expected


def test_requests_are_sorted_and_in_base_units() -> None:
    shape = shape_of(pod("a", memory="1Ki", cpu=1500, gpu=0)["spec"])
    assert shape.requests == (("cpu", 1500), ("memory", 1024))
    assert (shape.requested("cpu"), shape.requested(GPU)) == (1500, 0)


def test_a_request_for_slots_is_no_request() -> None:
    assert shape_of({"containers": [{"resources": {"requests": {"pods": "5"}}}]}).requests == ()
