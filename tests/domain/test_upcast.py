"""Old pages of the book stay readable: proved on a type that never was, at its third version."""

import pytest

from build import fact, node
from domain.envelope import Draft, canonical, encode_line
from domain.errors import CorruptLog
from domain.events import PAYLOADS, VERSIONS, Fact, SchedulerConfigured
from domain.profile import DEFAULT_PROFILE
from domain.upcast import CURRENT, UPCASTERS, Reader, draft


class GearChanged(Fact, frozen=True, kw_only=True):
    """At version 1 it had `gear` as text, at version 2 as a number in `gear`; since 3 in `to`."""

    car: str
    to: int
    why: str = "unknown"


def to_number(payload: dict) -> dict:
    return {**payload, "gear": int(payload["gear"])}


def renamed(payload: dict) -> dict:
    return {"car": payload["car"], "to": payload["gear"], "why": "upcast"}


READER = Reader(
    payloads={**PAYLOADS, "GearChanged": GearChanged},
    versions={**VERSIONS, "GearChanged": 3},
    upcasters={("GearChanged", 1): to_number, ("GearChanged", 2): renamed},
)


def line(version: int, payload: object, kind: str = "GearChanged") -> bytes:
    written = Draft(type=kind, version=version, subjects=(), payload=canonical(payload), actor="test")
    return encode_line(written, position=7, batch=6, at=123)


@pytest.mark.parametrize(
    ("version", "payload", "expected"),
    [
        pytest.param(1, {"car": "a", "gear": "4"}, GearChanged(car="a", to=4, why="upcast"), id="two steps"),
        pytest.param(2, {"car": "a", "gear": 4}, GearChanged(car="a", to=4, why="upcast"), id="one step"),
        pytest.param(3, {"car": "a", "to": 4}, GearChanged(car="a", to=4), id="today's"),
        pytest.param(
            3, {"car": "a", "to": 4, "colour": "red"}, GearChanged(car="a", to=4), id="a field of no meaning"
        ),
    ],
)
def test_a_line_of_any_version_is_read(version: int, payload: object, expected: GearChanged) -> None:
    event = READER.event("GearChanged", line(version, payload))
    assert (event.position, event.at, event.payload) == (7, 123, expected)


@pytest.mark.parametrize("version", [1, 2], ids=str)
def test_an_old_line_that_today_would_read_otherwise_is_still_an_old_line(version: int) -> None:
    """It has all of today's fields too; what counts is the version that it names."""
    old = line(version, {"car": "a", "gear": "4" if version == 1 else 4, "to": 9})
    assert READER.event("GearChanged", old).payload == GearChanged(car="a", to=4, why="upcast")


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        pytest.param(
            line(4, {"car": "a", "to": 4}),
            "GearChanged has schema version 4, this program knows up to 3: use a newer one",
            id="newer",
        ),
        pytest.param(line(0, {}), "GearChanged has the unknown schema version 0", id="too old"),
        pytest.param(
            line(3, {"car": "a"}),
            "GearChanged cannot be read: Object missing required field `to`",
            id="field missing",
        ),
        pytest.param(
            line(3, {"car": "a", "to": "4"}), "GearChanged cannot be read: Expected `int`", id="wrong type"
        ),
        pytest.param(
            line(2, {"car": 5, "gear": 1}),
            "GearChanged cannot be read: Expected `str`",
            id="wrong after upcast",
        ),
        pytest.param(
            line(1, {"car": "a"}),
            "GearChanged of schema version 1 cannot be read: KeyError('gear')",
            id="not what the upcaster takes",
        ),
        pytest.param(
            line(1, 5), "GearChanged of schema version 1 cannot be read: TypeError", id="no object at all"
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_position(bad: bytes, text: str) -> None:
    with pytest.raises(CorruptLog) as caught:
        READER.event("GearChanged", bad)
    assert str(caught.value).startswith("position 7: ")
    assert text in str(caught.value)
    assert caught.value.position == 7


def test_an_unknown_type_is_refused_with_its_position() -> None:
    with pytest.raises(CorruptLog, match="position 7: unknown event type 'GearChanged'"):
        CURRENT.event("GearChanged", line(3, {}))


@pytest.mark.parametrize("damaged", [b"", b"{", b"[]", b'{"position":1}'], ids=repr)
def test_a_line_that_is_none_is_refused(damaged: bytes) -> None:
    with pytest.raises(CorruptLog, match="not an event"):
        READER.event("GearChanged", damaged)


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        pytest.param({}, SchedulerConfigured(), id="defaults"),
        pytest.param(
            {"maxBackoffUs": 5, "retry": "byClock", "schedulerNames": ["mine"]},
            SchedulerConfigured(max_backoff_us=5, retry="byClock", scheduler_names=("mine",)),
            id="settings",
        ),
    ],
)
def test_a_configuration_from_before_profiles_means_the_same(
    payload: dict, expected: SchedulerConfigured
) -> None:
    read = CURRENT.event("SchedulerConfigured", line(1, payload, kind="SchedulerConfigured")).payload
    assert read == expected
    assert isinstance(read, SchedulerConfigured)
    assert read.profile("mine") == DEFAULT_PROFILE


def test_todays_lines_need_no_upcaster() -> None:
    written = draft(fact(node("n")), actor="test")
    assert written.version == VERSIONS["NodeAdded"]
    event = CURRENT.event("NodeAdded", encode_line(written, position=1, batch=1, at=0))
    assert event.payload == fact(node("n"))


def test_every_older_version_has_an_upcaster() -> None:
    """For every type, from version 1 on."""
    assert VERSIONS.keys() == PAYLOADS.keys()
    steps = {(kind, version) for kind, current in VERSIONS.items() for version in range(1, current)}
    assert steps == UPCASTERS.keys()
