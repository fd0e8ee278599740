"""Objects as Kubernetes shows them. Source: kube-apiserver 1.37."""

from books import Book
from build import group, node, pod
from domain import events as ev
from domain.times import SECOND
from strategies import priority_class
from worker.shown import as_shown, record_of, records_of

NEW_YEAR = "2026-01-01T00:00:00Z"


def shown(book: Book, kind: str, key: str) -> dict:
    record = record_of(book.state, kind, key)
    assert record is not None
    return as_shown(record, book.manifest_at(record.manifest))


def test_a_pod_that_waits_untried() -> None:
    found = shown(Book(pod("a")), "Pod", "default/a")
    assert found["metadata"]["resourceVersion"] == "1"
    assert found["metadata"]["generation"] == 1
    assert "nodeName" not in found["spec"]
    assert found["status"] == {"phase": "Pending"}


def test_a_pod_that_was_refused() -> None:
    found = shown(Book(pod("a")).decide(), "Pod", "default/a")
    assert found["metadata"]["resourceVersion"] == "2"
    assert found["status"]["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "False",
            "lastTransitionTime": NEW_YEAR,
            "reason": "Unschedulable",
            "message": "no nodes available to schedule pods",
            "observedGeneration": 1,
        }
    ]


def test_a_gated_pods_condition_names_no_generation() -> None:
    found = shown(Book(pod("a", gates=["x/y"])), "Pod", "default/a")
    (condition,) = found["status"]["conditions"]
    assert condition == {
        "type": "PodScheduled",
        "status": "False",
        "lastTransitionTime": NEW_YEAR,
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }


def test_a_pod_that_runs() -> None:
    book = Book(node("n"), pod("a"))
    book.now += 7 * SECOND
    book.decide().let_nodes_act()
    found = shown(book, "Pod", "default/a")
    assert found["spec"]["nodeName"] == "n"
    assert found["status"] == {
        "phase": "Running",
        "startTime": "2026-01-01T00:00:07Z",
        "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:07Z"}
        ],
    }


def test_conditions_of_others_are_kept_beside_ours() -> None:
    made = pod("a", node="n")
    ready = {"type": "Ready", "status": "True"}
    made["status"] = {"phase": "Running", "conditions": [ready, {"type": "PodScheduled", "status": "False"}]}
    found = shown(Book(node("n"), made), "Pod", "default/a")["status"]["conditions"]
    assert [(each["type"], each["status"]) for each in found] == [("Ready", "True"), ("PodScheduled", "True")]


def test_a_nominated_node_is_shown_until_it_is_taken_back() -> None:
    book = Book(node("n"), pod("a", gates=["x/y"]))
    uid = book.state.pods["default/a"].uid
    book.append(ev.PodNominated(pod="default/a", uid=uid, node="n"))
    assert shown(book, "Pod", "default/a")["status"]["nominatedNodeName"] == "n"
    book.append(ev.PodNominated(pod="default/a", uid=uid))
    assert "nominatedNodeName" not in shown(book, "Pod", "default/a")["status"]


def test_a_pod_that_is_being_deleted() -> None:
    book = Book(node("n"), pod("a", terminationGracePeriodSeconds=9)).decide()
    book.delete("Pod", "default/a")
    metadata = shown(book, "Pod", "default/a")["metadata"]
    assert metadata["deletionTimestamp"] == "2026-01-01T00:00:09Z"
    assert metadata["deletionGracePeriodSeconds"] == 9


def test_a_group_before_and_after_it_was_scheduled() -> None:
    book = Book(group("g", 1), pod("g-0", group="g"))
    assert "status" not in shown(book, "PodGroup", "default/g")
    book.decide()
    (refused,) = shown(book, "PodGroup", "default/g")["status"]["conditions"]
    assert (refused["type"], refused["status"], refused["reason"]) == (
        "PodGroupInitiallyScheduled",
        "False",
        "Unschedulable",
    )
    assert "observedGeneration" not in refused
    book.apply([node("n")])
    book.settle()
    assert shown(book, "PodGroup", "default/g")["status"]["conditions"] == [
        {
            "type": "PodGroupInitiallyScheduled",
            "status": "True",
            "lastTransitionTime": "2026-01-01T00:00:02Z",
            "reason": "Scheduled",
            "message": "",
        }
    ]


def _condition(book: Book, kind: str) -> dict:
    conditions = shown(book, "Pod", "default/a")["status"]["conditions"]
    return next(each for each in conditions if each["type"] == kind)


def test_a_condition_names_the_generation_that_was_refused() -> None:
    book = Book(node("n1", cpu="1"), pod("a", cpu="2")).decide()
    first = _condition(book, "PodScheduled")
    book.wait(60).apply([pod("a", cpu="2", tolerations=[{"key": "spare", "operator": "Exists"}])])
    assert shown(book, "Pod", "default/a")["metadata"]["generation"] == 2
    assert _condition(book, "PodScheduled") == first
    assert first["observedGeneration"] == 1
    book.wait(60).apply([node("n2", cpu="1")])
    book.decide()
    again = _condition(book, "PodScheduled")
    assert (again["observedGeneration"], again["message"][:4]) == (2, "0/2 ")
    assert again["lastTransitionTime"] == first["lastTransitionTime"]


def test_an_evicted_pod_names_the_generation_before() -> None:
    slow = pod("a", cpu="1", node="n1", terminationGracePeriodSeconds=40)
    slow["metadata"]["finalizers"] = ["example.com/hold"]
    book = Book(priority_class("high", 5), node("n1", cpu="1"), slow)
    book.apply([pod("b", cpu="1", priorityClassName="high")])
    book.decide()
    before = _condition(book, "DisruptionTarget")
    assert before["observedGeneration"] == 1
    changed = book.stored("Pod", "default/a")
    assert changed is not None
    assert changed["metadata"]["generation"] == 2
    changed["spec"]["tolerations"] = [{"key": "spare", "operator": "Exists"}]
    book.apply([changed])
    assert shown(book, "Pod", "default/a")["metadata"]["generation"] == 3
    assert _condition(book, "DisruptionTarget") == before


def test_a_node_and_a_class_are_shown_as_they_are() -> None:
    book = Book(node("n", labels={"rack": "a"}), priority_class("high", 5))
    found = shown(book, "Node", "n")
    assert found["metadata"]["labels"]["rack"] == "a"
    assert found["metadata"]["resourceVersion"] == "1"
    assert shown(book, "PriorityClass", "high")["value"] == 5


def test_what_is_shown_is_a_copy() -> None:
    book = Book(node("n"), pod("a")).decide()
    before = shown(book, "Pod", "default/a")
    before["metadata"].clear()
    before["spec"].clear()
    assert shown(book, "Pod", "default/a")["metadata"]["name"] == "a"


def test_records_by_kind() -> None:
    book = Book(node("n"), pod("b"), pod("a"), group("g", 1), priority_class("high", 5))
    assert list(records_of(book.state, "Pod")) == ["default/b", "default/a"]
    assert list(records_of(book.state, "Node")) == ["n"]
    assert list(records_of(book.state, "PodGroup")) == ["default/g"]
    assert list(records_of(book.state, "PriorityClass")) == ["high"]
    assert list(records_of(book.state, "Workload")) == []
    assert record_of(book.state, "Workload", "default/w") is None
