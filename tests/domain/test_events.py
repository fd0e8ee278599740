"""Events on the wire: canonical bytes, and every object that each concerns."""

from typing import get_args

import msgspec
import pytest
from hypothesis import given

from build import fact, group, node, pod
from domain import events as ev
from domain.envelope import canonical, decode_line, encode_line
from domain.events import PAYLOADS, Event, Fact, ObjectPayload, Payload, kind_of, subjects
from domain.upcast import CURRENT, draft
from strategies import logs


@pytest.mark.parametrize(
    "struct",
    [
        *PAYLOADS.values(),
        ev.Deletion,
        ev.NodeReason,
        ev.ResourceFinding,
        ev.ShapeFinding,
        ev.GroupFinding,
        ev.PlacementFinding,
    ],
    ids=lambda struct: struct.__name__,
)
def test_fields_stand_in_the_order_of_the_wire(struct: type[Fact]) -> None:
    names = [field.encode_name for field in msgspec.structs.fields(struct)]
    assert names == sorted(names)


@given(logs(min_size=10))
def test_a_payload_is_canonical_and_reads_back_the_same(log: list[Event]) -> None:
    for event in log:
        written = draft(event.payload, actor="test", cause=3)
        assert written.payload == canonical(msgspec.json.decode(written.payload))
        line = encode_line(written, position=event.position, batch=event.position, at=event.at)
        assert line == canonical(msgspec.json.decode(line))
        read = CURRENT.event(written.type, line)
        assert (read.position, read.at, read.payload) == (event.position, event.at, event.payload)
        assert decode_line(line).subjects == tuple(sorted(set(written.subjects)))


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        pytest.param(fact(node("n")), ["Node/n"], id="node"),
        pytest.param(fact(group("g", 1)), ["PodGroup/default/g"], id="group"),
        pytest.param(fact(pod("a")), ["Pod/default/a"], id="Pod"),
        pytest.param(
            fact(pod("a", group="g", node="n")),
            ["Node/n", "Pod/default/a", "PodGroup/default/g"],
            id="bound member",
        ),
        pytest.param(
            ev.PodDeleted(key="default/a", uid="u", group="default/g"),
            ["Pod/default/a", "PodGroup/default/g"],
            id="member that goes",
        ),
        pytest.param(
            ev.PodBound(pod="default/a", uid="u", node="n"), ["Node/n", "Pod/default/a"], id="binding"
        ),
        pytest.param(
            ev.PodNominated(pod="default/a", uid="u"), ["Pod/default/a"], id="nomination taken back"
        ),
        pytest.param(
            ev.PodEvicted(at=0, grace=0, message="", node="n", pod="default/a", preemptor="b", uid="u"),
            ["Node/n", "Pod/default/a"],
            id="eviction",
        ),
        pytest.param(
            ev.BindingFailed(message="", node="n", pod="default/a", uid="u", group="default/g"),
            ["Node/n", "Pod/default/a", "PodGroup/default/g"],
            id="binding that failed",
        ),
        pytest.param(
            ev.GroupAttempted(
                at=0,
                entity="PodGroup/default/g",
                groups=(
                    ev.GroupFinding(
                        created=1,
                        group="PodGroup/default/g",
                        minimum=1,
                        placed=0,
                        policy="gang",
                        status="Error",
                    ),
                ),
                number=1,
                outcome="error",
                scheduler="",
                snapshot=1,
            ),
            ["PodGroup/default/g"],
            id="attempt, each once",
        ),
        pytest.param(ev.SchedulerConfigured(), ["Scheduler"], id="configuration"),
    ],
)
def test_subjects(payload: Payload, expected: list[str]) -> None:
    assert list(subjects(payload)) == expected


@pytest.mark.parametrize("payload", get_args(ObjectPayload), ids=lambda payload: payload.__name__)
def test_kind_of_an_object_fact(payload: type[Fact]) -> None:
    fields = {"uid": "u"} if payload.__name__.endswith("Deleted") else {"object": msgspec.Raw(b"{}")}
    kind = kind_of(payload(key="default/a", **fields))
    assert payload.__name__ in (f"{kind}Added", f"{kind}Updated", f"{kind}Deleted")
    assert subjects(payload(key="default/a", **fields)) == (f"{kind}/default/a",)


def test_a_field_at_its_default_is_left_out() -> None:
    assert draft(ev.SchedulerConfigured(), actor="user").payload == b"{}"
    assert draft(ev.SchedulerConfigured(retry="byClock"), actor="user").payload == b'{"retry":"byClock"}'
