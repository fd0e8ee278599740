"""The same commands on SQLite and on PostgreSQL, and a log that moves between them."""

import sqlite3
from pathlib import Path

import pytest
import yaml

from build import group, node, pod
from cli_world import Ganger

MANIFESTS = yaml.safe_dump_all(
    [node("n1", gpu=8), group("g", 1), pod("a", gpu=4, group="g"), pod("b", gpu=8)]
)


def test_the_whole_way(location: str, ganger: Ganger) -> None:
    store = ("--store", location)

    assert ganger.out(*store, "apply", "-f", "-", stdin=MANIFESTS).count("created") == 4
    assert ganger.out(*store, "get", "pods", "-o", "name").split() == ["pod/a", "pod/b"]
    assert ganger(*store, "run", "--until-settled", "--virtual-time").code == 0
    assert ganger(*store, "why", "pg/g").code == 0
    assert ganger(*store, "why", "pod/b").code == 1
    assert "Pod/default/b" in ganger.out(*store, "queue")
    assert ganger(*store, "delete", "-f", "-", stdin=MANIFESTS).out.count("deleted") == 4
    assert "PodBound" in ganger.out(*store, "history", "pod", "a")
    assert ganger.out(*store, "replay").splitlines()[-1].startswith("same: ")
    assert ganger.out(*store, "log", "verify").endswith("verified\n")


def test_postgres_is_upgraded_on_command_only(bare_postgres_url: str, ganger: Ganger) -> None:
    store = ("--store", bare_postgres_url)

    for words in (["get", "pods"], ["apply", "-f", "-"]):
        assert "run `ganger db upgrade`" in ganger.error(*store, *words, stdin=MANIFESTS)
    assert ganger(*store, "db", "current").code == 1
    assert ganger.out(*store, "db", "upgrade") == "none -> 0003\n"
    assert ganger.out(*store, "db", "current") == "0003 (up to date)\n"
    assert ganger.out(*store, "apply", "-f", "-", stdin=MANIFESTS).count("created") == 4


def test_a_log_keeps_its_hash_in_another_database(postgres_url: str, ganger: Ganger, folder: Path) -> None:
    ganger.out("apply", "-f", "-", stdin=MANIFESTS)
    ganger("run", "--until-settled", "--virtual-time")
    ganger("log", "export", "log.jsonl.zst")

    assert ganger.out("--store", postgres_url, "log", "import", "log.jsonl.zst") == ganger.out("log", "head")
    assert ganger.out("--store", postgres_url, "replay") == ganger.out("replay")


def test_forks_windows_and_redaction_on_postgres(postgres_url: str, ganger: Ganger, folder: Path) -> None:
    store = ("--store", postgres_url)
    ganger.out(*store, "apply", "-f", "-", stdin=MANIFESTS)
    ganger(*store, "run", "--until-settled", "--virtual-time")
    (folder / "more.yaml").write_text(yaml.safe_dump(node("more", gpu=8)))

    assert ganger(*store, "whatif", "-f", "more.yaml", "--at", "4", "--save", "fork").code == 1
    assert ganger.out(*store, "--cluster", "fork", "replay").splitlines()[-1].startswith("same: ")
    assert ganger(*store, "diff", "--from", "4").code == 1
    assert ganger.error(*store, "get", "pods", "--at", str(2**70)).endswith("the log ends at 8")
    ganger(*store, "log", "export", "--since", "4", "--redact", "window.zst")
    assert ganger(*store, "--cluster", "window", "log", "import", "window.zst").code == 0
    assert "take this window from the whole log" in ganger.error(
        *store, "--cluster", "window", "log", "export", "--redact"
    )


@pytest.mark.parametrize(
    ("store", "error"),
    [
        pytest.param("", "error: the store has no name", id="nothing"),
        pytest.param("mysql://host/db", "error: 'mysql' is not supported", id="another database"),
        pytest.param("sqlite:///:memory:", "error: a store in memory would forget its log", id="memory"),
        pytest.param("nowhere/ganger.db", "error: there is no folder nowhere for the store", id="no folder"),
        pytest.param(".", "error: ", id="a folder"),
        pytest.param("postgresql+psycopg://127.0.0.1:1/db", "error: ", id="no server"),
    ],
)
def test_stores_that_cannot_be(ganger: Ganger, store: str, error: str) -> None:
    assert ganger.error("--store", store, "apply", "-f", "-", stdin=MANIFESTS).startswith(error)


@pytest.mark.parametrize("name", ["A", "a/b", "a b", "a\nb", "ä", "x" * 300])
def test_a_cluster_is_made_by_a_name_that_a_url_can_have(ganger: Ganger, folder: Path, name: str) -> None:
    ganger("apply", "-f", "-", stdin=MANIFESTS)
    ganger("log", "export", "log.jsonl")
    rule = f"error: --cluster: {name!r} must be a lowercase RFC 1123 subdomain"
    for words in (
        ["apply", "-f", "-"],
        ["apply", "-f", "-", "--dry-run"],
        ["log", "import", "log.jsonl"],
        ["run", "--until-settled"],
        ["queue", "--server", "http://127.0.0.1:1"],
    ):
        assert ganger.error("--cluster", name, *words, stdin=MANIFESTS).startswith(rule)


def test_a_cluster_of_any_name_is_still_used(ganger: Ganger, folder: Path) -> None:
    ganger("apply", "-f", "-", stdin=MANIFESTS)
    with sqlite3.connect("ganger.db") as connection:
        connection.execute("UPDATE streams SET name = 'Team A'")

    assert ganger("--cluster", "Team A", "apply", "-f", "-", stdin=MANIFESTS).code == 0
