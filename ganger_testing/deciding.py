"""A program that folds logs and decides on them, and says what bytes come of it.

Standard input has a Task a line, as msgpack in hexadecimal. Its log is folded in pieces of the size
that it names, decided on, and replayed. The answer is a line with the hash of the State's bytes,
whether each recorded decision came out the same, and the hash of the new ones.
"""

import hashlib
import sys

import msgspec

from domain.envelope import decode_line
from domain.reducer import fold
from domain.scheduling.cycle import decide
from domain.state import State, decode_state, encode_state
from domain.times import SECOND
from domain.upcast import CURRENT
from ganger_testing.determinism import Task, bytes_of
from ganger_testing.lines import Lines
from worker.replaying import replay


def digest(task: Task) -> str:
    """What comes of a log that is read in pieces."""
    state = State()
    events = [CURRENT.event(decode_line(line).kind, line) for line in task.lines]
    for start in range(0, len(events), task.size):
        fold(state, events[start : start + task.size])
        if state.position % 60 == 0:
            state = decode_state(encode_state(state))  # as after a restart
    decisions = hashlib.sha256()
    for second in range(0, 60, 20):
        decisions.update(bytes_of(decide(state, state.at + second * SECOND)))
    replayed = "same" if replay(Lines(task.lines)).same else "different"
    return f"{hashlib.sha256(encode_state(state)).hexdigest()} {replayed} {decisions.hexdigest()}"


def main() -> None:
    """Answer each task until the input ends."""
    for line in sys.stdin:
        task = msgspec.msgpack.decode(bytes.fromhex(line), type=Task)
        sys.stdout.write(digest(task) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
