"""--server: the same answers from a running server as from the store."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
import yaml

from api.app import create_app
from api.clusters import Clusters
from build import group, node, pod
from cli_world import Book, Ganger, write_book


@contextmanager
def serving(book: Book) -> Iterator[str]:
    """The URL of a server without a worker on the store of `book`, at the time of `book`."""
    with (
        closing(Clusters(book.store, "default", clock=book.clock, work=False)) as clusters,
        listening(create_app(clusters)) as url,
    ):
        yield url


@contextmanager
def listening(app: Any) -> Iterator[str]:
    """The URL of a server that runs `app`."""
    config = uvicorn.Config(app, port=0, lifespan="off", log_level="critical", ws="none")
    with closing(config.bind_socket()) as socket:
        socket.listen()
        running = uvicorn.Server(config)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [socket]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{socket.getsockname()[1]}"
        finally:
            running.should_exit = True
            thread.join()


@pytest.fixture
def server(book: Book) -> Iterator[str]:
    """The URL of a server on the store in the current folder."""
    with serving(book) as url:
        yield url


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str, str]]:
    """A folder with a store that is only read, its newest position, and the URL of a server on it."""
    place = tmp_path_factory.mktemp("library")
    book = write_book(place)
    with serving(book) as url:
        yield place, book.position, url
    book.store.close()


@pytest.fixture
def position(library: tuple[Path, str, str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The newest position of the store that is only read, which the current folder then has."""
    monkeypatch.chdir(library[0])
    return library[1]


@pytest.fixture
def reader(library: tuple[Path, str, str]) -> str:
    """The URL of the server on the store that is only read."""
    return library[2]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["get", "pods", "-A", "-o", "wide"], id="pods"),
        pytest.param(["get", "pg,no"], id="groups and nodes"),
        pytest.param(["get", "no", "-l", "zone in (a)"], id="by label"),
        pytest.param(["get", "pods", "-o", "yaml"], id="manifests"),
        pytest.param(["get", "pod", "held", "-o", "json"], id="one manifest"),
        pytest.param(["get", "pods", "-n", "empty"], id="none"),
        pytest.param(["describe", "pg", "big"], id="a group"),
        pytest.param(["describe", "node", "n1"], id="a node"),
        pytest.param(["describe", "pod", "other", "-n", "team-a"], id="a Pod"),
        pytest.param(["get", "events", "-A", "-o", "wide"], id="events"),
        pytest.param(["get", "events", "-o", "yaml"], id="events as manifests"),
        pytest.param(["get", "pc,pdb"], id="system classes"),
        pytest.param(["queue"], id="queue"),
        pytest.param(["queue", "-o", "json"], id="queue as JSON"),
        pytest.param(["why", "pg/big"], id="why"),
        pytest.param(["why", "node/n1", "-o", "json"], id="why a node"),
        pytest.param(["why", "pg/big", "--level", "0"], id="why in short"),
        pytest.param(["why", "pg/big", "--level", "3", "-o", "json"], id="why in full"),
        pytest.param(["why", "pod/trainer-0", "--level", "2"], id="why a Pod is where it is"),
    ],
)
def test_a_server_says_the_same(position: str, reader: str, ganger: Ganger, words: list[str]) -> None:
    here = ganger(*words, "--at", position)

    assert ganger(*words, "--at", position, "--server", reader) == here
    assert here.code in (0, 1)


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--limit", "2"],
        ["--since", "12"],
        ["--until", "2026-01-01T00:00:30Z"],
        ["--at", "9"],
        ["-o", "json"],
    ],
)
def test_history_from_a_server(position: str, reader: str, ganger: Ganger, options: list[str]) -> None:
    words = ["history", "pg", "big", *options]

    assert ganger(*words, "--server", reader) == ganger(*words)


def test_diff_from_a_server(position: str, reader: str, ganger: Ganger) -> None:
    words = ["diff", "--from", "5", "--to", position]

    assert ganger(*words, "--server", reader) == ganger(*words)


def test_long_histories_come_page_by_page(
    position: str, reader: str, ganger: Ganger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.client.PAGE", 2)

    assert ganger.out("history", "pg", "big", "--server", reader) == ganger.out("history", "pg", "big")


def test_apply_to_a_server(book: Book, server: str, ganger: Ganger) -> None:
    strange = pod("new")
    strange["spec"]["colour"] = "red"
    manifests = yaml.safe_dump_all([node("n3"), node("n1", gpu=4), group("trainer", 2), strange])

    result = ganger("apply", "--server", server, "-f", "-", stdin=manifests)

    assert result == (
        0,
        "node/n3 created\nnode/n1 configured\npodgroup/trainer unchanged\npod/new created\n",
        'Warning: unknown field "spec.colour"\n',
    )
    again = ganger("apply", "--server", server, "--dry-run", "-f", "-", stdin=manifests)
    assert again.out.splitlines() == [
        "node/n3 unchanged (dry run)",
        "node/n1 unchanged (dry run)",
        "podgroup/trainer unchanged (dry run)",
        "pod/new unchanged (dry run)",
    ]
    dry = ganger.out("apply", "--server", server, "--dry-run", "-f", "-", stdin=yaml.safe_dump(node("n4")))
    assert dry == "node/n4 created (dry run)\n"
    assert "node/n4" not in ganger.out("get", "no", "-o", "name", "--server", server)


def test_delete_on_a_server(book: Book, server: str, ganger: Ganger) -> None:
    words = ["delete", "pg/trainer", "pod/held", "no/n2", "--server", server]

    assert ganger(*words) == (
        0,
        'podgroup "trainer" deleted\npod "held" deleted\nnode "n2" deleted\n',
        'podgroup "trainer" stays until its Pods have ended\n',
    )
    assert ganger.out("delete", "pod/held", "--ignore-not-found", "--server", server) == ""
    assert (
        ganger.out("delete", "pod/few-0", "--dry-run", "--server", server)
        == 'pod "few-0" deleted (dry run)\n'
    )
    assert ganger.out("get", "pod/few-0", "-o", "name", "--server", server) == "pod/few-0\n"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        pytest.param(
            ["get", "pod", "x"], 'Error from server (NotFound): pods "x" not found', id="no such object"
        ),
        pytest.param(
            ["delete", "pod", "x"], 'Error from server (NotFound): pods "x" not found', id="to delete"
        ),
        pytest.param(
            ["why", "pod", "x"], 'Error from server (NotFound): pods "x" not found', id="to explain"
        ),
        pytest.param(
            ["history", "pod", "x"], 'Error from server (NotFound): pods "x" not found', id="to tell"
        ),
        pytest.param(
            ["get", "pods", "--at", "999"],
            "Error from server (Expired): position 999 is in the future",
            id="future",
        ),
        pytest.param(["get", "pods", "--at", "x"], "Error from server (BadRequest): at:", id="no moment"),
        pytest.param(
            ["apply", "-f", "-"],
            'Error from server (Invalid): PodGroup.scheduling.k8s.io "g" is invalid: spec.schedulingPolicy',
            id="a refusal",
        ),
    ],
)
def test_what_a_server_refuses(reader: str, ganger: Ganger, words: list[str], error: str) -> None:
    refused = yaml.safe_dump(group("g", -1))

    assert ganger.error(*words, "--server", reader, stdin=refused).startswith(error)


@pytest.mark.parametrize(
    ("url", "error"),
    [
        pytest.param(url, f"error: {url!r} is not the URL of a server, such as http://", id=case)
        for url, case in {
            "file:///etc/hosts": "a file",
            "http://[": "half an address",
            "http://": "no host",
            "": "nothing",
            "http://localhost:99999": "no port",
        }.items()
    ],
)
def test_what_is_no_server(ganger: Ganger, url: str, error: str) -> None:
    assert ganger.error("get", "pods", "--server", url).startswith(error)


def test_nobody_is_there(ganger: Ganger) -> None:
    error = "error: the server http://127.0.0.1:1 cannot be reached"
    assert ganger.error("get", "pods", "--server", "http://127.0.0.1:1").startswith(error)


def test_a_kept_fork_is_asked_about_where_it_is(server: str, ganger: Ganger) -> None:
    kept = ganger("whatif", "--save", "fork", "--server", server)
    words = kept.err.removeprefix("Kept as cluster fork: ganger ").split()

    assert words == ["--cluster", "fork", "queue,", "why,", "history", "--server", server]
    assert ganger("--cluster", "fork", "queue", "--server", server).code == 0


def test_another_cluster_of_a_server(book: Book, server: str, ganger: Ganger) -> None:
    manifest = yaml.safe_dump(node("n7"))

    assert ganger.out("--cluster", "east", "apply", "--server", server, "-f", "-", stdin=manifest)
    assert ganger.out("--cluster", "east", "get", "no", "-o", "name") == "node/n7\n"
    assert "node/n7" not in ganger.out("get", "no", "-o", "name")


def test_config_on_a_server(book: Book, server: str, ganger: Ganger) -> None:
    before = ganger.out("config", "show")
    assert ganger.out("config", "show", "--server", server) == before
    document = yaml.safe_load(before) | {"podMaxBackoffSeconds": 60, "parallelism": 4}
    words = ["config", "set", "--server", server, "-f", "-"]
    note = "Warning: parallelism has no effect in ganger: all nodes are looked at at once\n"

    tried = ganger(*words, "--dry-run", stdin=yaml.safe_dump(document))
    assert tried == (0, "kubeschedulerconfiguration configured (dry run)\n", note)
    assert ganger.out("config", "show") == before
    for change in ("configured", "unchanged"):
        result = ganger(*words, stdin=yaml.safe_dump(document))
        assert result == (0, f"kubeschedulerconfiguration {change}\n", note)
    after = ganger.out("config", "show", "--server", server)
    assert after == before.replace("podMaxBackoffSeconds: 10\n", "podMaxBackoffSeconds: 60\n")
    assert ganger.out("config", "show", "--server", server, "--at", book.position) == before
    assert ganger.error(*words, stdin=yaml.safe_dump(document | {"extenders": [{}]})) == (
        "Error from server (Invalid): KubeSchedulerConfiguration is invalid: "
        "extenders: Forbidden: ganger calls no extenders"
    )


def test_the_first_configuration_of_a_cluster_on_a_server(server: str, ganger: Ganger) -> None:
    document = ganger.out("config", "show")
    words = ["--cluster", "new", "config", "set", "--server", server, "-f", "-"]
    assert ganger.out(*words, stdin=document) == "kubeschedulerconfiguration configured\n"


@pytest.mark.parametrize("answer", [b"<html></html>", b"[]"])
@pytest.mark.parametrize(
    "words",
    [
        ["get", "pods"],
        ["describe", "pod", "p"],
        ["queue"],
        ["why", "pod", "p"],
        ["history", "pod", "p"],
        ["diff", "--from", "1"],
        ["config", "show"],
        ["config", "set", "-f", "-"],
        ["apply", "-f", "-"],
        ["delete", "pod", "p"],
        ["whatif", "--delete", "pod/p"],
    ],
    ids=" ".join,
)
def test_a_server_that_is_no_ganger(ganger: Ganger, words: list[str], answer: bytes) -> None:
    async def stranger(scope: Any, receive: Any, send: Any) -> None:
        length = str(len(answer)).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": answer})

    with listening(stranger) as url:
        error = ganger.error(*words, "--server", url, stdin=yaml.safe_dump(node("n1")))

    assert "in an unknown form" in error
