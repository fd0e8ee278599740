"""What `ganger replay` says of decisions that come out otherwise, or should not have been committed."""

from cli.text.replay import result_lines
from cli_world import Golden
from worker.replaying import BadSnapshot, Divergence, ReplayResult


def test_a_decision_that_was_overtaken_says_by_what() -> None:
    late = Divergence(7, 7, b'{"a":1}', None, "PodGroup/team/train", 5, overtaken=6)
    assert result_lines(ReplayResult(6, 1, 0, b"", late))[1:] == [
        (
            "diverged at position 7, in the attempt at position 7 of PodGroup/team/train:"
            " it does not stand after the event at position 6"
        ),
        "look at:",
        "  ganger why PodGroup train -n team --at 7",
        "  ganger get nodes,pods -A --at 5",
    ]


def test_both_sides_of_a_difference_and_a_bad_snapshot(golden: Golden) -> None:
    recorded = b'{"entity":"PodGroup/team/train","outcome":"scheduled","shapes":[]}'
    decided = (
        b'{"entity":"PodGroup/team/train","outcome":"unschedulable",'
        b'"shapes":[{"message":"0/2 nodes are available: 2 Insufficient nvidia.com/gpu.","total":2}]}'
    )
    differs = Divergence(7, 7, recorded, decided, "PodGroup/team/train", 5)
    bad = BadSnapshot(position=4, fault="it is not what the log folds to")
    result = ReplayResult(6, 1, 2, b"", differs, versions=("0.0.9",), snapshots=3, bad_snapshots=(bad,))
    golden("replay-diverged", "\n".join(result_lines(result)) + "\n")
