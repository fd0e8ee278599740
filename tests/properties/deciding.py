"""A program that folds logs and decides on them, and says what bytes come of it.

Standard input has a log a line: its events, as msgpack in hexadecimal. It is folded in pieces of the
size that the command line names, decided on, and replayed. The answer is a line with the hash of the
State's bytes, whether each recorded decision came out the same, and the hash of the new ones.
"""

import hashlib
import sys

import msgspec

from books import Lines
from domain.envelope import decode_line
from domain.reducer import fold
from domain.scheduling.cycle import decide
from domain.state import State, decode_state, encode_state
from domain.upcast import CURRENT
from worker.replaying import replay


def digest(lines: list[bytes], size: int) -> str:
    """What comes of a log that is read `size` events at a time."""
    state = State()
    decisions = hashlib.sha256()
    events = [CURRENT.event(decode_line(line).kind, line) for line in lines]
    for start in range(0, len(events), size):
        fold(state, events[start : start + size])
        if state.position % 60 == 0:
            state = decode_state(encode_state(state))  # as after a restart
    for second in range(0, 60, 20):
        decision = decide(state, state.at + second * 1_000_000)
        if decision is not None:
            decisions.update(msgspec.json.encode(decision.payloads))
            decisions.update(repr((sorted(decision.pods), sorted(decision.nodes), decision.cause)).encode())
    replayed = "same" if replay(Lines(lines)).same else "different"
    return f"{hashlib.sha256(encode_state(state)).hexdigest()} {replayed} {decisions.hexdigest()}"


def main(size: int) -> None:
    """Answer each log until the input ends."""
    for line in sys.stdin:
        print(digest(msgspec.msgpack.decode(bytes.fromhex(line), type=list[bytes]), size), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
