"""The pages of the jobs people have, run: each command ends as its page says."""

from pathlib import Path

import pytest

from walkthrough import ROOT, Told, lacking, walk

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> list[Told]:
    return walk(DOCS / "audit.md", tmp_path_factory.mktemp("audit"), "quickstart")


@pytest.fixture(scope="module")
def incidents(tmp_path_factory: pytest.TempPathFactory) -> list[Told]:
    return walk(DOCS / "incidents.md", tmp_path_factory.mktemp("incidents"), "quickstart")


def _unexpected(told: list[Told], noes: set[str]) -> list[tuple[str, int, str]]:
    """The commands that did not end with 0, or with 1 if they are in `noes`: `why podgroup/train#2` is
    the second of its kind."""
    seen: dict[str, int] = {}
    found = []
    for each in told:
        command = each.command.removeprefix("ganger ").removeprefix("--store lab.db --cluster incident ")
        seen[command] = seen.get(command, 0) + 1
        name = command if seen[command] == 1 else f"{command}#{seen[command]}"
        if each.code != (1 if name in noes else 0):
            found.append((name, each.code, each.output))
        noes = noes - {name}
    assert noes == set(), "no command of the page"
    return found


def test_every_command_of_an_audit_ends_as_the_page_says(audit: list[Told]) -> None:
    noes = {
        "why podgroup/train --level 0",
        "why podgroup/train",
        "why pod/train-2",
        "why podgroup/train --at 15",
        "why podgroup/train --at 15#2",
    }
    assert _unexpected(audit, noes) == []


def test_an_audit_finds_the_cause(audit: list[Told]) -> None:
    refused = "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining"
    of_then = [told for told in audit if told.command == "ganger why podgroup/train --at 15"]
    first = next(told for told in audit if told.command == "ganger why podgroup/train")
    for told in (first, *of_then):
        assert lacking(told, refused, "ask for 6 nvidia.com/gpu, the whole cluster has 4 free") == []


def test_every_command_of_an_incident_ends_as_the_page_says(incidents: list[Told]) -> None:
    (damaged,) = _unexpected(incidents, {"why podgroup/train --at 15"})
    assert damaged[:2] == ("replay damaged.jsonl", 2)


def test_the_damage_is_located(incidents: list[Told]) -> None:
    told = next(told for told in incidents if told.command == "ganger replay damaged.jsonl")
    assert "position 2" in told.output


def test_an_imported_log_has_the_head_of_the_first(incidents: list[Told]) -> None:
    there, here = [told.output.split()[:2] for told in incidents if told.command.endswith("log head")]
    assert there == here


def test_every_page_of_a_job_is_named_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [page for page in ("audit", "incidents", "testing") if f"(docs/{page}.md)" not in readme] == []
    assert Path(DOCS / "testing.md").exists()
