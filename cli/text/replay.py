"""What a replay found."""

from itertools import zip_longest

import msgspec

from cli.console import align
from worker.replaying import Divergence, ReplayResult


def result_lines(result: ReplayResult) -> list[str]:
    """The outcome of a replay, a line each; both sides of the first difference if there is one."""
    lines = [f"{result.events} events folded, {result.attempts} attempts decided again"]
    if result.elsewhere:
        lines.append(f"{result.elsewhere} attempts of another scheduler version were only folded")
    if result.divergence is None:
        return [*lines, f"same: the head hash is {result.head_hash.hex()}"]
    return lines + _divergence(result.divergence)


def _divergence(divergence: Divergence) -> list[str]:
    """The two sides next to each other; `|` between lines that differ."""
    recorded, decided = _pretty(divergence.recorded), _pretty(divergence.decided)
    rows = [
        (left, " " if left == right else "|", right)
        for left, right in zip_longest(recorded, decided, fillvalue="")
    ]
    late = divergence.overtaken
    return [
        f"diverged at position {divergence.position}, in the attempt at position {divergence.attempt}:",
        *([] if late is None else [f"it does not stand after the event at position {late}"]),
        *align([("RECORDED", " ", "DECIDED AGAIN"), *rows], empty=" "),
    ]


def _pretty(payload: bytes | None) -> list[str]:
    return ["(nothing)"] if payload is None else msgspec.json.format(payload, indent=2).decode().splitlines()
