"""The walk through examples/racks: a tree in racks of a real network starts, a wider one does not."""

import re

import pytest

from examples.racks.nodes import nodes
from walkthrough import ROOT, Told, lacking, walk


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[Told]:
    page = ROOT / "examples" / "racks" / "README.md"
    return walk(page, tmp_path_factory.mktemp("racks"), "racks", "traces")


def test_every_command_ends_as_the_text_says(told: list[Told]) -> None:
    noes = [each.command for each in told if each.code != 0]
    assert noes == ["ganger why compositepodgroup/wide", "ganger why podgroup/wide-0-workers"]
    assert {each.code for each in told} == {0, 1}


def test_each_replica_is_in_a_rack_of_its_own_below_one_switch(told: list[Told]) -> None:
    labels = {each["metadata"]["name"]: each["metadata"]["labels"] for each in nodes()}
    (table,) = [each.output for each in told if each.command == "ganger get pods -o wide"]
    rows = [row.split() for row in table.splitlines()[1:]]
    on = {row[0]: next(labels[word] for word in row if word in labels) for row in rows}
    assert len(on) == 24
    racks = [
        {on[pod]["example.com/rack"] for pod in on if pod.startswith(f"pretrain-{number}-")}
        for number in range(3)
    ]
    assert [len(rack) for rack in racks] == [1, 1, 1]
    assert len(set.union(*racks)) == 3
    assert len({each["example.com/pod"] for each in on.values()}) == 1


def test_the_wide_one_is_asked_why(told: list[Told]) -> None:
    (why,) = [each for each in told if each.command == "ganger why compositepodgroup/wide"]
    assert lacking(why, "CompositePodGroup default/wide", "minGroupCount 2", "0 started") == []
    leaf, resource, domain = r"wide-\d-workers", r"90 cpu", r"rack P\d+-S\d+"
    assert [what for what in (leaf, resource, domain) if not re.search(what, why.output)] == []
    (of_leaf,) = [each for each in told if each.command == "ganger why podgroup/wide-0-workers"]
    assert lacking(of_leaf, "wide-0-workers") == []
