"""What `ganger replay` says of a decision that should not have been committed."""

from cli.text.replay import result_lines
from worker.replaying import Divergence, ReplayResult


def test_a_decision_that_was_overtaken_says_by_what() -> None:
    late = Divergence(7, 7, b'{"a":1}', None, overtaken=6)
    lines = result_lines(ReplayResult(6, 1, 0, b"", late))
    assert lines[1:3] == [
        "diverged at position 7, in the attempt at position 7:",
        "it does not stand after the event at position 6",
    ]
    assert "(nothing)" in lines[4]
