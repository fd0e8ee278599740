import pytest

from api.selectors import parse_fields, parse_labels, selects_fields
from domain.errors import BadRequest
from domain.label_selectors import selects

LABELS = {"app": "trainer", "rack": "7", "ganger.dev/queue": "a"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", True, id="empty selects everything"),
        pytest.param("app=trainer", True, id="equal"),
        pytest.param("app==trainer", True, id="equal, twice"),
        pytest.param("app = trainer , rack = 7", True, id="blanks"),
        pytest.param("app=other", False, id="not equal"),
        pytest.param("app!=other", True, id="differs"),
        pytest.param("tier!=web", True, id="a missing label differs"),
        pytest.param("app=", False, id="an empty value is a value"),
        pytest.param("app in (web, trainer)", True, id="in"),
        pytest.param("app notin (web, trainer)", False, id="notin"),
        pytest.param("tier notin (web)", True, id="a missing label is in no list"),
        pytest.param("tier in (web)", False, id="a missing label is not in the list"),
        pytest.param("app", True, id="exists"),
        pytest.param("!app", False, id="exists, but must not"),
        pytest.param("!tier", True, id="does not exist"),
        pytest.param("rack>6", True, id="greater"),
        pytest.param("rack<7", False, id="not less"),
        pytest.param("app>1", False, id="no number to compare"),
        pytest.param("app in (trainer),rack notin (1,2)", True, id="commas inside and outside"),
        pytest.param("app=trainer,rack=8", False, id="all must hold"),
        pytest.param("ganger.dev/queue=a", True, id="key with a prefix"),
    ],
)
def test_labels(text: str, expected: bool) -> None:
    assert selects(parse_labels(text), LABELS) is expected


@pytest.mark.parametrize(
    ("text", "part"),
    [
        pytest.param("app in trainer", "unable to parse requirement", id="in without parentheses"),
        pytest.param("app=a=b", "unable to parse requirement", id="two operators"),
        pytest.param("a b", "unable to parse requirement", id="two words"),
        pytest.param(",", "unable to parse requirement", id="nothing"),
        pytest.param("-app=a", "key '-app'", id="bad key"),
        pytest.param("app=-a", "value '-a'", id="bad value"),
        pytest.param("app>x", "the value must be an integer", id="order of a word"),
    ],
)
def test_labels_that_cannot_be_read(text: str, part: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        parse_labels(text)
    assert str(refusal.value).startswith(f'labelSelector: Invalid value: "{text}": ')
    assert part in str(refusal.value)


POD = {
    "metadata": {"name": "a", "namespace": "team"},
    "spec": {"nodeName": "n1"},
    "status": {"phase": "Running"},
}


@pytest.mark.parametrize(
    ("text", "kind", "manifest", "expected"),
    [
        pytest.param("", "Pod", POD, True, id="empty selects everything"),
        pytest.param("metadata.name=a", "Pod", POD, True, id="name"),
        pytest.param("metadata.namespace!=team", "Pod", POD, False, id="namespace"),
        pytest.param("spec.nodeName=n1,status.phase==Running", "Pod", POD, True, id="both must hold"),
        pytest.param("spec.nodeName=n1,status.phase=Pending", "Pod", POD, False, id="one does not"),
        pytest.param("spec.nodeName=", "Pod", POD | {"spec": {}}, True, id="no node is an empty one"),
        pytest.param("spec.nodeName!=", "Pod", POD | {"spec": {}}, False, id="no node at all"),
        pytest.param("spec.unschedulable=false", "Node", {"spec": {}}, True, id="a node takes Pods"),
        pytest.param(
            "spec.unschedulable=true", "Node", {"spec": {"unschedulable": True}}, True, id="cordoned"
        ),
    ],
)
def test_fields(text: str, kind: str, manifest: dict[str, object], expected: bool) -> None:
    assert selects_fields(parse_fields(text, kind), manifest) is expected


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        pytest.param(
            "spec.nodeName=a", "Node", "field label not supported: spec.nodeName", id="other kind's"
        ),
        pytest.param("spec.replicas=1", "Pod", "field label not supported: spec.replicas", id="unknown"),
        pytest.param("nonsense", "Pod", "can't understand 'nonsense'", id="no operator"),
    ],
)
def test_fields_that_cannot_be_read(text: str, kind: str, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        parse_fields(text, kind)
