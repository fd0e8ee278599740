import pytest

from domain import errors
from domain.errors import Cause, CorruptLog, GangerError, PositionConflict, Refused
from store.errors import StoreLocked
from worker.status import status_body, status_code


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        pytest.param(errors.BadRequest("text"), 400, "BadRequest", id="BadRequest"),
        pytest.param(errors.Forbidden("text"), 403, "Forbidden", id="Forbidden"),
        pytest.param(errors.NotFound("text"), 404, "NotFound", id="NotFound"),
        pytest.param(errors.AlreadyExists("text"), 409, "AlreadyExists", id="AlreadyExists"),
        pytest.param(errors.Conflict("text"), 409, "Conflict", id="Conflict"),
        pytest.param(errors.Expired("text"), 410, "Expired", id="Expired"),
        pytest.param(errors.Invalid("text"), 422, "Invalid", id="Invalid"),
        pytest.param(PositionConflict("s", expected=1, head=2), 409, "Conflict", id="PositionConflict"),
        pytest.param(CorruptLog("text", position=3), 500, "InternalError", id="CorruptLog"),
        pytest.param(StoreLocked("text"), 503, "ServiceUnavailable", id="StoreError"),
        pytest.param(GangerError("text"), 500, "InternalError", id="anything else"),
    ],
)
def test_codes_and_reasons(error: GangerError, code: int, reason: str) -> None:
    assert status_code(error) == code
    assert status_body(error) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": str(error),
        "reason": reason,
        "code": code,
    }


def test_every_refusal_has_a_code() -> None:
    def all_of(kind: type[Refused]) -> list[type[Refused]]:
        return [each for sub in kind.__subclasses__() for each in (sub, *all_of(sub))]

    assert errors.Invalid in all_of(Refused)
    for kind in all_of(Refused):
        assert 400 <= status_code(kind("text")) < 600


def test_details_say_what_there_is_to_say() -> None:
    cause = Cause("FieldValueInvalid", "Invalid value: 0", "spec.minCount")
    error = errors.Invalid("text", name="g", group="scheduling.k8s.io", kind="PodGroup", causes=[cause])
    assert status_body(error)["details"] == {
        "name": "g",
        "group": "scheduling.k8s.io",
        "kind": "PodGroup",
        "causes": [{"reason": "FieldValueInvalid", "message": "Invalid value: 0", "field": "spec.minCount"}],
    }
    assert status_body(errors.NotFound("text", name="p", kind="pods"))["details"] == {
        "name": "p",
        "kind": "pods",
    }
