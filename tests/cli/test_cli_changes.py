"""apply and delete: what they take, what they say, and that a refusal leaves nothing behind."""

from pathlib import Path

import pytest
import yaml

from build import Manifest, group, node, pod
from cli_world import Book, Ganger
from store.engine import open_store
from store.log import EventLog


def written(*manifests: Manifest) -> str:
    return yaml.safe_dump_all(manifests)


def head(folder: Path) -> int:
    store = open_store(str(folder / "ganger.db"), create=False)
    try:
        return EventLog(store, "default").head().position
    finally:
        store.close()


def test_created_unchanged_configured(ganger: Ganger, folder: Path) -> None:
    manifests = [node("n1"), group("g", 2), pod("a", group="g")]
    (folder / "all.yaml").write_text(written(*manifests))

    assert ganger.out("apply", "-f", "all.yaml") == "node/n1 created\npodgroup/g created\npod/a created\n"
    assert (
        ganger.out("apply", "-f", "all.yaml") == "node/n1 unchanged\npodgroup/g unchanged\npod/a unchanged\n"
    )
    assert head(folder) == 3
    assert ganger.out("apply", "-f", "-", stdin=written(group("g", 1))) == "podgroup/g configured\n"
    assert head(folder) == 4


def test_folders_lists_and_several_paths(ganger: Ganger, folder: Path) -> None:
    (folder / "b" / "deeper").mkdir(parents=True)
    (folder / "b" / "2.yml").write_text(written(node("n2"), node("n3")))
    (folder / "b" / "1.json").write_text('{"apiVersion": "v1", "kind": "List", "items": []}')
    (folder / "b" / "notes.txt").write_text("not read")
    (folder / "b" / "deeper" / "n4.yaml").write_text(written(node("n4")))
    (folder / "a.yaml").write_text(written(node("n1")))

    assert (
        ganger.out("apply", "-f", "a.yaml", "-f", "b")
        == "node/n1 created\nnode/n2 created\nnode/n3 created\n"
    )
    assert ganger.out("apply", "-R", "-f", "b", "a.yaml").splitlines() == [
        "node/n2 unchanged", "node/n3 unchanged", "node/n4 created", "node/n1 unchanged",
    ]  # fmt: skip


def test_the_namespace_of_those_that_name_none(ganger: Ganger) -> None:
    nameless = pod("a")
    del nameless["metadata"]["namespace"]

    assert ganger.out("apply", "-n", "team-a", "-f", "-", stdin=written(nameless)) == "pod/a created\n"
    assert ganger.out("get", "pods", "-n", "team-a", "-o", "name") == "pod/a\n"
    assert "does not match the namespace" in ganger.error(
        "apply", "-n", "team-b", "-f", "-", stdin=written(pod("a"))
    )


@pytest.mark.parametrize("exists", [pytest.param(True, id="a store"), pytest.param(False, id="no store")])
def test_a_dry_run_writes_nothing(ganger: Ganger, folder: Path, exists: bool) -> None:
    if exists:
        ganger.out("apply", "-f", "-", stdin=written(node("n1")))
    answer = ganger.out("apply", "--dry-run", "-f", "-", stdin=written(node("n1"), pod("a")))

    assert answer.splitlines() == [
        f"node/n1 {'unchanged' if exists else 'created'} (dry run)",
        "pod/a created (dry run)",
    ]
    assert (folder / "ganger.db").exists() is exists
    assert not exists or head(folder) == 1


def test_warnings_are_notes(ganger: Ganger) -> None:
    unknown = pod("a")
    unknown["spec"]["colour"] = "red"

    result = ganger("apply", "-f", "-", stdin=written(unknown))

    assert result == (0, "pod/a created\n", 'Warning: unknown field "spec.colour"\n')


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param(
            "a: 1\nb: [1\nc: 2\n",
            "bad.yaml, document 1, line 3, column 2: did not find expected ',' or ']'",
            id="malformed YAML",
        ),
        pytest.param(
            "{}\n---\na: 1\na: 2\n",
            "bad.yaml, document 2, line 4, column 1: the key 'a' stands twice in one mapping",
            id="a key twice",
        ),
        pytest.param("- 1\n", "bad.yaml, document 1, line 1: an object is a mapping of fields", id="a list"),
        pytest.param("# nothing\n", "there is no object in bad.yaml", id="nothing"),
        pytest.param(
            f"{written(node('n1'))}---\napiVersion: v1\nkind: Foo\nmetadata: {{name: x}}\n",
            'no matches for kind "Foo" in version "v1"',
            id="unknown kind",
        ),
        pytest.param(
            written(node("n1"), group("g", -1)),
            'PodGroup.scheduling.k8s.io "g" is invalid: spec.schedulingPolicy.gang.minCount:'
            " Invalid value: -1: must be greater than or equal to 1",
            id="a number out of range",
        ),
        pytest.param(
            written(node("n1"), pod("a", cpu="-1")), 'Pod "a" is invalid: spec.containers[0]', id="a quantity"
        ),
        pytest.param(written(node("n1"), pod("A", node="n1")), "metadata.name: Invalid value", id="a name"),
    ],
)
def test_a_refused_batch_is_refused_whole(ganger: Ganger, folder: Path, text: str, error: str) -> None:
    ganger.out("apply", "-f", "-", stdin=written(node("first")))
    (folder / "bad.yaml").write_text(text)

    said = ganger.error("apply", "-f", "bad.yaml")

    assert said.startswith("error: ")
    assert error in said
    assert "bad.yaml" in said
    assert head(folder) == 1


def test_a_refusal_says_where_the_manifest_stands(ganger: Ganger, folder: Path) -> None:
    (folder / "good.yaml").write_text(written(node("n1")))
    (folder / "bad.yaml").write_text(f"{written(node('n2'))}---\n{written(group('g', 0))}")

    assert ganger.error("apply", "-f", "good.yaml", "-f", "bad.yaml").startswith(
        "error: bad.yaml, document 2, line 14: PodGroup"
    )


@pytest.mark.parametrize(
    ("words", "error"),
    [
        pytest.param(["apply"], "error: say which manifests: -f PATH", id="apply nothing"),
        pytest.param(["apply", "-f", "nope.yaml"], "error: there is no file or folder nope.yaml", id="file"),
        pytest.param(["delete"], "error: say what to delete", id="delete nothing"),
        pytest.param(["delete", "pods"], "error: say which pods to delete, by name", id="delete all"),
        pytest.param(["delete", "pod", "a", "-f", "-"], "error: name objects, or say which", id="both ways"),
        pytest.param(["delete", "pod", "nope"], 'error: pods "nope" not found', id="no such object"),
        pytest.param(["delete", "pod", "held", "nope"], 'error: pods "nope" not found', id="one of two"),
        pytest.param(
            ["delete", "pod", "held", "--grace-period", str(2**63)],
            f"error: invalid value for '--grace-period': {2**63}",
            id="more grace than 64 bits hold",
        ),
        pytest.param(
            ["delete", "pod", "held", "--grace-period", "-1"],
            "error: invalid value for '--grace-period': -1",
            id="grace",
        ),
    ],
)
def test_what_cannot_be_done(book: Book, ganger: Ganger, words: list[str], error: str) -> None:
    before = book.cluster.log.head()

    assert ganger.error(*words).startswith(error)
    assert book.cluster.log.head() == before


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["pod", "held", "few-0"], id="KIND NAME NAME"),
        pytest.param(["pod/held", "po/few-0"], id="KIND/NAME"),
        pytest.param(["-f", "-"], id="manifests"),
    ],
)
def test_delete(book: Book, ganger: Ganger, words: list[str]) -> None:
    manifests = written(pod("held"), pod("few-0"))

    assert ganger.out("delete", *words, stdin=manifests) == 'pod "held" deleted\npod "few-0" deleted\n'
    names = ganger.out("get", "pods", "-o", "name").split()
    assert not {"pod/held", "pod/few-0"} & set(names)


def test_a_pod_on_a_node_has_its_grace(book: Book, ganger: Ganger) -> None:
    assert ganger.out("delete", "pod", "trainer-0", "--grace-period", "5") == 'pod "trainer-0" deleted\n'
    book.cluster.refresh()

    shown = ganger.out("get", "pod", "trainer-0", "-o", "yaml")
    assert yaml.safe_load(shown)["metadata"]["deletionGracePeriodSeconds"] == 5
    assert "Terminating" in ganger.out("get", "pod", "trainer-0")
    assert ganger.out("delete", "pod", "trainer-0", "--grace-period", "0") == 'pod "trainer-0" deleted\n'
    assert 'pods "trainer-0" not found' in ganger.error("get", "pod", "trainer-0")


def test_a_protected_group_stays_and_that_is_said(book: Book, ganger: Ganger) -> None:
    assert ganger("delete", "pg", "trainer") == (
        0, 'podgroup "trainer" deleted\n', 'podgroup "trainer" stays until its Pods have ended\n',
    )  # fmt: skip
    assert "podgroup/trainer" in ganger.out("get", "pg", "-o", "name")


def test_what_is_not_there_can_be_ignored(book: Book, ganger: Ganger) -> None:
    assert ganger.out("delete", "pod", "nope", "held", "--ignore-not-found") == 'pod "held" deleted\n'


def test_a_dry_run_deletes_nothing(book: Book, ganger: Ganger) -> None:
    assert ganger.out("delete", "pod", "held", "--dry-run") == 'pod "held" deleted (dry run)\n'
    assert ganger.out("get", "pod", "held", "-o", "name") == "pod/held\n"


@pytest.mark.parametrize(
    ("manifest", "error"),
    [
        ("apiVersion: v1\nkind: Pod\n", "metadata.name: Required value"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: [a]}\n", "metadata.name: Required value"),
        ("apiVersion: v1\nkind: Foo\nmetadata: {name: a}\n", 'no matches for kind "Foo"'),
    ],
)
def test_manifests_that_name_nothing_to_delete(book: Book, ganger: Ganger, manifest: str, error: str) -> None:
    assert error in ganger.error("delete", "-f", "-", stdin=manifest)
