"""What `ganger replay` says of a decision that should not have been committed."""

from cli.text.replay import result_lines
from worker.replaying import Divergence, ReplayResult


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
