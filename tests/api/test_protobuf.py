"""What kubectl 1.37.1 sent, byte for byte, and bodies that are damaged."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.protobuf import PROTOBUF, UnknownKind, read_protobuf
from api_world import CORE, PODS, Api
from build import pod
from domain.errors import BadRequest

NAMESPACE = bytes.fromhex(
    "6b3873000a0f0a02763112094e616d657370616365121a0a120a02743212001a0022002a0032003800420012001a020a001a0022"
    "00"
)
PRIORITY_CLASS = bytes.fromhex(
    "6b3873000a250a147363686564756c696e672e6b38732e696f2f7631120d5072696f72697479436c61737312260a120a02683212"
    "001a0022002a0032003800420010071800220568656c6c6f2a054e657665721a002200"
)
MINIMUM = bytes.fromhex(
    "6b3873000a200a09706f6c6963792f76311213506f6444697372757074696f6e42756467657412420a110a016412001a0022002a"
    "0032003800420012210a06080010011a0012170a060a0161120162120d0a01631202496e1a01641a01651a0a0800180020002800"
    "30001a002200"
)
MAXIMUM = bytes.fromhex(
    "6b3873000a200a09706f6c6963792f76311213506f6444697372757074696f6e42756467657412360a110a016512001a0022002a"
    "00320038004200121512080a060a01611201621a09080110001a033530251a0a080018002000280030001a002200"
)
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
SENT = [
    pytest.param(
        f"{CORE}/namespaces",
        NAMESPACE,
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "t2"}},
        id="Namespace",
    ),
    pytest.param(
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        PRIORITY_CLASS,
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "h2"},
            "value": 7,
            "description": "hello",
            "preemptionPolicy": "Never",
        },
        id="PriorityClass",
    ),
    pytest.param(
        BUDGETS,
        MINIMUM,
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "d"},
            "spec": {
                "minAvailable": 1,
                "selector": {
                    "matchLabels": {"a": "b"},
                    "matchExpressions": [{"key": "c", "operator": "In", "values": ["d", "e"]}],
                },
            },
        },
        id="a budget by its minimum",
    ),
    pytest.param(
        BUDGETS,
        MAXIMUM,
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "e"},
            "spec": {"maxUnavailable": "50%", "selector": {"matchLabels": {"a": "b"}}},
        },
        id="a budget by its maximum",
    ),
]


@pytest.mark.parametrize(("path", "body", "manifest"), SENT)
def test_what_kubectl_sends_is_what_it_would_say_in_json(
    api: Api, path: str, body: bytes, manifest: dict[str, Any]
) -> None:
    assert read_protobuf(body) == manifest
    reply = api.client.post(path, content=body, headers={"Content-Type": PROTOBUF})
    assert reply.status_code == 201, reply.text
    (written,) = api.post(f"/clusters/json{path}", manifest)
    written["metadata"]["uid"] = reply.json()["metadata"]["uid"]
    assert reply.json() == written


def _message(*fields: tuple[int, int | bytes]) -> bytes:
    """A protobuf message of small numbers and short texts."""
    return b"".join(
        bytes([number << 3, value])
        if isinstance(value, int)
        else bytes([number << 3 | 2, len(value)]) + value
        for number, value in fields
    )


def _body(version: bytes, kind: bytes, *fields: tuple[int, int | bytes]) -> bytes:
    return b"k8s\x00" + _message((1, _message((1, version), (2, kind))), (2, _message(*fields)))


def test_options_of_a_deletion(api: Api) -> None:
    api.post(PODS, pod("p", node="n"))
    preconditions = _message((1, b"another"))
    headers = {"Content-Type": PROTOBUF}
    body = _body(b"v1", b"DeleteOptions", (1, 0), (2, preconditions), (4, b"Background"))
    assert api.refused("DELETE", f"{PODS}/p", content=body, headers=headers)[:2] == (409, "Conflict")
    body = _body(b"v1", b"DeleteOptions", (1, 0), (5, b"All"))
    assert api.client.request("DELETE", f"{PODS}/p", content=body, headers=headers).status_code == 200
    assert "deletionTimestamp" not in api.get(f"{PODS}/p")["metadata"]
    body = _body(b"v1", b"DeleteOptions", (1, 0))
    assert api.client.request("DELETE", f"{PODS}/p", content=body, headers=headers).status_code == 200
    assert api.refused("GET", f"{PODS}/p")[0] == 404


METADATA = _message(
    (1, b"x"),
    (8, _message((1, 100))),
    (11, _message((1, b"a"), (2, b"b"))),
    (11, _message((1, b"c"))),
    (13, _message((1, b"Node"), (3, b"n"), (4, b"u"), (5, b"v1"), (6, 0))),
    (14, b"x/y"),
    (14, b"x/z"),
)


def test_metadata() -> None:
    assert read_protobuf(_body(b"v1", b"Namespace", (1, METADATA)))["metadata"] == {
        "name": "x",
        "creationTimestamp": "1970-01-01T00:01:40Z",
        "labels": {"a": "b", "c": ""},
        "ownerReferences": [
            {"kind": "Node", "name": "n", "uid": "u", "apiVersion": "v1", "controller": False}
        ],
        "finalizers": ["x/y", "x/z"],
    }


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(b"{}", "body: it is no Kubernetes protobuf: it does not begin with k8s\\0", id="JSON"),
        pytest.param(NAMESPACE[:-8], "body: a protobuf message ends too soon", id="half of it"),
        pytest.param(
            _body(b"v1", b"Namespace", (15, 1)),
            "body: field 15 of a protobuf message is not known",
            id="field",
        ),
        pytest.param(
            _body(b"v1", b"Namespace", (1, 1)),
            "body: a field of a protobuf message has the wrong type",
            id="number",
        ),
        pytest.param(
            _body(b"v1", b"DeleteOptions", (1, b"x")),
            "body: a field of a protobuf message has the wrong type",
            id="text",
        ),
        pytest.param(
            _body(b"v1", b"Namespace", (1, _message((1, b"\xff")))),
            "body: a text of a protobuf message is not UTF-8",
            id="not UTF-8",
        ),
        pytest.param(b"k8s\x00\x0b", "body: wire type 3 of a protobuf message is not known", id="wire type"),
        pytest.param(
            b"k8s\x00" + b"\xff" * 11, "body: a number of a protobuf message is too long", id="varint"
        ),
    ],
)
def test_what_cannot_be_read(api: Api, body: bytes, said: str) -> None:
    headers = {"Content-Type": PROTOBUF}
    assert api.refused("POST", f"{CORE}/namespaces", content=body, headers=headers) == (
        400,
        "BadRequest",
        said,
    )


def test_a_kind_that_is_not_read(api: Api) -> None:
    code, reason, message = api.refused(
        "POST", PODS, content=_body(b"v1", b"Pod"), headers={"Content-Type": PROTOBUF}
    )
    assert (code, reason) == (415, "UnsupportedMediaType")
    assert message.endswith("application/json, application/yaml (it was application/vnd.kubernetes.protobuf)")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(whole=st.sampled_from([NAMESPACE, PRIORITY_CLASS, MINIMUM, MAXIMUM]), data=st.data())
def test_whatever_is_sent_is_read_or_refused(whole: bytes, data: st.DataObject) -> None:
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with suppress(BadRequest, UnknownKind):
        assert isinstance(read_protobuf(bytes(damaged)), dict)
