"""The README's own words, run: every command of the quickstart does what the text says it does."""

import pytest

from walkthrough import ROOT, Told, lacking, walk


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[Told]:
    """Each command of the quickstart with its exit code and output, run one after the other."""
    page = ROOT / "examples" / "quickstart" / "README.md"
    return walk(page, tmp_path_factory.mktemp("quickstart"), "quickstart")


def test_every_command_ends_as_the_text_says(told: list[Told]) -> None:
    assert [(each.command.removeprefix("ganger "), each.code) for each in told] == [
        ("apply -f quickstart/nodes.yaml -f quickstart/tune.yaml -f quickstart/train.yaml", 0),
        ("run --until-settled --virtual-time", 0),
        ("get podgroups", 0),
        ("why podgroup/train", 1),
        ("apply -f quickstart/one-more-node.yaml", 0),
        ("run --until-settled --virtual-time", 0),
        ("why podgroup/train", 0),
        ("history podgroup train", 0),
        ("why podgroup/train --at 15", 1),
        ("log verify", 0),
        ("replay", 0),
    ]


@pytest.mark.parametrize(
    ("index", "texts"),
    [
        pytest.param(2, ["train", "Unschedulable", "tune", "Scheduled"], id="one runs, one does not"),
        pytest.param(
            3,
            [
                "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining",
                "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.",
                "ask for 6 nvidia.com/gpu, the whole cluster has 4 free",
            ],
            id="why, with numbers",
        ),
        pytest.param(6, ["is Scheduled", "3 on nodes"], id="bound once there is room"),
        pytest.param(7, ["attempt 1: Unschedulable", "attempt 2: Scheduled", "bound to gpu-3"], id="history"),
        pytest.param(8, ["is Unschedulable", "the whole cluster has 4 free"], id="as it was"),
        pytest.param(10, ["same"], id="decided again"),
    ],
)
def test_the_output_says_what_the_text_says(told: list[Told], index: int, texts: list[str]) -> None:
    assert lacking(told[index], *texts) == []
