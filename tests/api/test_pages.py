"""The web page, as a browser without scripts meets it."""

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock
from urllib.parse import parse_qs, urlsplit

import pytest

from api.pages.routes import ROWS
from api_world import BOOK, GROUPS, NODES, PODS, Api
from build import group, node, pod
from domain.events import SchedulerConfigured
from domain.explanation import title
from domain.times import SECOND, without_zeros
from ganger_testing.manifests import priority_class
from html_pages import Page
from store.archive import import_log
from worker.loop import Worker

INCIDENTS = Path(__file__).parents[2] / "examples" / "incidents"


def _page(api: Api, path: str, code: int = 200) -> Page:
    reply = api.client.get(path, follow_redirects=False)
    assert reply.status_code == code, (path, reply.text)
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert "script-src" not in reply.headers["content-security-policy"]
    assert "default-src 'none'" in reply.headers["content-security-policy"]
    return Page(reply.text)


def _crawl(api: Api, start: str) -> dict[str, Page]:
    """Every page of the same moment that links lead to from `start`, but for deeper levels of the same."""
    pages: dict[str, Page] = {}
    left = [start]
    while left:
        path = left.pop()
        if path not in pages:
            pages[path] = _page(api, path)
            left += [link for link in pages[path].links if _same_moment(link, start)]
    return pages


def _same_moment(link: str, start: str) -> bool:
    asked, meant = parse_qs(urlsplit(link).query), parse_qs(urlsplit(start).query)
    is_page = "/ui" in urlsplit(link).path and not link.endswith(".css")
    return is_page and asked.get("at") == meant.get("at") and "level" not in asked


def _incident(api: Api, name: str) -> str:
    """Where the pages of an incident are."""
    with (INCIDENTS / f"{name}.jsonl").open("rb") as log:
        import_log(api.clusters.store, name, log)
    return f"/clusters/{name}/ui"


@pytest.mark.parametrize("name", [path.stem for path in sorted(INCIDENTS.glob("*.jsonl"))])
def test_every_object_of_an_incident_is_reached_by_links(api: Api, name: str) -> None:
    root = _incident(api, name)
    pages = _crawl(api, root)
    assert all(link.startswith(f"/clusters/{name}/") for page in pages.values() for link in page.links)
    state = api.clusters.open(name).cluster.state
    for plural, keys in (
        ("podgroups", state.groups),
        ("compositepodgroups", state.composites),
        ("pods", state.pods),
    ):
        for key in keys:
            namespace, _, own = key.partition("/")
            assert f"{root}/namespaces/{namespace}/{plural}/{own}" in pages
    assert {f"{root}/nodes/{key}" for key in state.node_records} <= pages.keys()


def test_a_past_moment_is_kept_from_page_to_page(api: Api) -> None:
    root = _incident(api, "part-too-big")
    pages = _crawl(api, f"{root}?at=12")
    assert len(pages) > 10
    assert all("position 12," in page.text for page in pages.values())


@pytest.fixture
def rejected(api: Api) -> Api:
    """A gang of two, tried and refused since there is room for one only."""
    api.post(NODES, node("n1", cpu="1"))
    api.post(GROUPS, group("g", min_count=2))
    api.post(PODS, pod("a", cpu="1", group="g"), pod("b", cpu="1", group="g"))
    api.settle()
    api.clock.advance_to(api.clock.now() + 10_000_000)
    return api


GANG = "/namespaces/default/podgroups/g"


def test_a_page_says_what_why_and_history_say(rejected: Api) -> None:
    told = rejected.get(f"{BOOK}{GANG}/why")
    history = rejected.get(f"{BOOK}{GANG}/history")
    page = _page(rejected, f"/ui{GANG}")
    assert told["wouldHelp"]
    (shape,) = told["shapes"]
    said = [
        f"{told['verdict']} {told['summary']}",
        told["note"],
        told["proofBy"],
        shape["message"],
        *(f"{each['count']} {each['reason']} {each['filter']}" for each in shape["nodes"]),
        *(each["change"] for each in told["wouldHelp"]),
        *(each["event"]["type"] for each in history["items"]),
    ]
    for text in said:
        assert " ".join(text.split()) in page.text


LEFT_OUT = frozenset(
    {
        *("apiVersion", "uid", "namespace", "name", "kind"),  # said by the title
        *("lane", "phase", "hold", "wokenBy", "time", "nextTry"),  # said by the note, or in another form
        *("outcome", "proof", "plugin", "preemptionMayHelp", "subjects", "from", "to", "evicts"),
        *("pods", "resource", "domain", "topologyKey"),  # of a cause, whose text says them
    }
)
"""Fields that the page says in other words, or that others say."""


def _said_in(told: object) -> Iterator[str]:
    """The texts of an explanation that its page has to show."""
    if isinstance(told, str):
        yield told
    elif isinstance(told, list):
        for each in told:
            yield from _said_in(each)
    elif isinstance(told, dict):
        for name, each in told.items():
            if name not in LEFT_OUT and not (name == "message" and "children" in told):
                yield from _said_in(each)


def _missing(told: object, page: Page) -> list[str]:
    """The texts of an explanation that its page does not show above the history."""
    shown, _, history = page.text.partition(" History position time event ")
    assert history
    return [text for text in _said_in(told) if not _is_on(shown, text)]


def _is_on(shown: str, text: str) -> bool:
    """Whether a page shows `text`, as it is or as people write a subject or a time."""
    return any(" ".join(form.split()) in shown for form in (text, title(text), without_zeros(text)))


def _show_all(api: Api, prefix: str, level: int) -> None:
    """Look whether every object's page in the cluster at `prefix` shows all that `why` says."""
    subjects = [each for each in _crawl(api, f"{prefix}/ui") if "/ui/namespaces/" in each]
    assert subjects
    for subject in subjects:
        told = api.get(f"{prefix}/ganger/v1{subject.removeprefix(f'{prefix}/ui')}/why?level={level}")
        assert _missing(told, _page(api, f"{subject}?level={level}")) == [], subject


@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("name", [path.stem for path in sorted(INCIDENTS.glob("*.jsonl"))])
def test_a_page_shows_all_that_why_says(api: Api, name: str, level: int) -> None:
    _incident(api, name)
    _show_all(api, f"/clusters/{name}", level)


@pytest.mark.parametrize("level", [1, 2, 3])
def test_a_page_shows_obstacles_and_whom_a_preemption_could_have_chosen(api: Api, level: int) -> None:
    tainted = [{"key": "dedicated", "value": "search", "effect": "NoSchedule"}]
    apply = api.served.cluster.apply
    apply(
        [
            priority_class("high", 100),
            node("n0", cpu="9", taints=tainted),
            *(node(name, cpu="2") for name in "ab"),
        ]
    )
    apply([pod("cheap", cpu="2"), pod("dear", cpu="2")])
    api.settle()
    apply([pod("urgent", cpu="2", priorityClassName="high")])
    apply([group("g", min_count=5), *(pod(f"g-{number}", cpu="3", group="g") for number in range(5))])
    api.settle()
    gang = api.get(f"{BOOK}{GANG}/why?level={level}")
    assert any("dedicated" in each for shape in gang["shapes"] for each in shape["obstacles"])
    urgent = "/namespaces/default/pods/urgent"
    events = [each["event"] for each in api.get(f"{BOOK}{urgent}/history")["items"]]
    refused = next(each["position"] for each in events if each["type"] == "GroupAttempted")
    told = api.get(f"{BOOK}{urgent}/why?level={level}&at={refused}")
    assert level == 1 or len(told["preemption"]["candidates"]) == 2
    assert _missing(told, _page(api, f"/ui{urgent}?level={level}&at={refused}")) == []
    _show_all(api, "", level)


@pytest.mark.parametrize("level", [2, 3])
def test_a_deeper_level_tells_of_nodes(rejected: Api, level: int) -> None:
    page = _page(rejected, f"/ui{GANG}?level={level}")
    assert "among 1 nodes" in page.text
    assert f"/ganger/v1{GANG}/why" in page.links


def test_the_queue_and_the_decisions(rejected: Api) -> None:
    queue, decisions = _page(rejected, "/ui"), _page(rejected, "/ui/decisions")
    assert "unschedulable 1 PodGroup default/g 0 2 1" in queue.text
    assert "attempt 1: Unschedulable" in decisions.text
    assert f"/ui{GANG}?at=5" in decisions.links


def test_findings_that_many_decisions_share_are_read_once(
    rejected: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = rejected.served.cluster
    cluster.append([SchedulerConfigured(retry="byClock")], actor="test")
    Worker(cluster).advance(rejected.clock, rejected.clock.now() + 60 * SECOND)
    event = Mock(side_effect=cluster.event)
    monkeypatch.setattr(cluster, "event", event)

    page = _page(rejected, "/ui/decisions")

    assert page.text.count(": Unschedulable") > 3
    assert event.call_count == 1


def test_an_empty_cluster_has_pages(api: Api) -> None:
    assert "Nothing waits." in _page(api, "/ui").text
    assert "Nothing has been decided." in _page(api, "/ui/decisions").text
    assert "There are none." in _page(api, "/ui/pods").text


def test_the_server_leads_browsers_to_the_page(api: Api) -> None:
    for root in ("", "/clusters/default"):
        reply = api.client.get(f"{root}/", follow_redirects=False)
        assert (reply.status_code, reply.headers["location"]) == (307, f"{root}/ui")
    assert (
        api.client.get("/clusters/default", follow_redirects=False).headers["location"]
        == "/clusters/default/ui"
    )


def test_an_object_is_found_by_its_name(rejected: Api) -> None:
    reply = rejected.client.get("/ui/find?object=pg/g&at=4", follow_redirects=False)
    assert (reply.status_code, reply.headers["location"]) == (307, f"/ui{GANG}?at=4")


def test_a_long_list_goes_on(api: Api) -> None:
    names = [f"p{number:03}" for number in range(ROWS + 1)]
    api.served.cluster.apply([pod(name, cpu="1") for name in names])
    first = _page(api, "/ui/pods")
    (more,) = [link for link in first.links if "after=" in link]
    assert f"/ui/namespaces/default/pods/{names[-1]}" not in first.links
    second = _page(api, more)
    assert [link for link in second.links if "/namespaces/" in link] == [
        f"/ui/namespaces/default/pods/{names[-1]}"
    ]


def test_a_long_queue_goes_on(api: Api) -> None:
    api.served.cluster.apply([pod(f"p{number:03}", cpu="1") for number in range(ROWS + 1)])
    first = _page(api, "/ui")
    assert f"{ROWS + 1} wait." in first.text
    (more,) = [link for link in first.links if "after=" in link]
    assert [link for link in _page(api, more).links if "/namespaces/" in link] == [
        f"/ui/namespaces/default/pods/p{ROWS}"
    ]


def test_a_long_history_goes_on(api: Api) -> None:
    api.post(NODES, node("n1", cpu="1"))
    for number in range(ROWS):
        api.served.cluster.apply([node("n1", cpu=str(number + 2))])
    (more,) = [link for link in _page(api, "/ui/nodes/n1").links if "after=" in link]
    rest = _page(api, more)
    assert f"/ui/nodes/n1?at={ROWS + 1}" in rest.links
    assert f"/ui/nodes/n1?at={ROWS}" not in rest.links


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        pytest.param("/ui/pods/p", 404, "pods are in namespaces", id="namespace missing"),
        pytest.param("/ui/namespaces/default/pods/p", 404, 'pods "p" not found', id="no such object"),
        pytest.param("/ui/services", 404, "there is no list of services", id="no such list"),
        pytest.param("/ui/nodes/n?level=9", 400, "level: Invalid value: 9", id="level"),
        pytest.param("/ui/nodes/n?level=x", 400, "level: Invalid value", id="no number"),
        pytest.param("/ui?at=soon", 400, 'at: Invalid value: "soon"', id="no moment"),
        pytest.param("/ui?at=9", 410, "position 9 is in the future", id="future"),
        pytest.param(
            "/ui/find?object=", 404, "the server doesn't have a resource type", id="nothing to find"
        ),
        pytest.param("/clusters/nobody/ui", 404, 'clusters "nobody" not found', id="no such cluster"),
    ],
)
def test_what_cannot_be_shown_is_said_on_a_page(api: Api, path: str, code: int, said: str) -> None:
    assert said in _page(api, path, code).text


@pytest.mark.parametrize(
    "path",
    ["/ui/<script>alert(1)</script>", "/ui?at=<b>", "/ui/find?object=<img src=x>/y", '/ui/nodes/"><b>n</b>'],
)
def test_nothing_of_a_request_becomes_markup(api: Api, path: str) -> None:
    reply = api.client.get(path)
    assert reply.status_code in (400, 404)
    assert not Page(reply.text).tags & {"script", "b", "img"}
