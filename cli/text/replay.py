"""What a replay found."""

from collections.abc import Sequence

from cli.console import align
from worker.replaying import Divergence, ReplayResult

_SHOWN = 20
"""Fields of a divergence that are printed."""
_WIDEST = 60
"""Of a value that is printed."""


def result_lines(result: ReplayResult) -> list[str]:
    """The outcome of a replay, a line each; both sides of the first difference if there is one."""
    begin = f", from position {result.begins_after + 1} on" if result.begins_after else ""
    lines = [f"{result.events} events folded{begin}, {result.attempts} attempts decided again"]
    if result.snapshots:
        lines.append(f"{result.snapshots} snapshots compared")
    if result.elsewhere:
        lines.append(
            f"{result.elsewhere} attempts are of another scheduler version ({', '.join(result.versions)}):"
            " folded, and decided again only with --against-current"
        )
    if result.unseen:
        lines.append(
            f"{result.unseen} attempts were decided on what was before the log begins, and were only folded"
        )
    lines += [
        f"the snapshot at position {bad.position} is no good: {bad.fault}" for bad in result.bad_snapshots
    ]
    if result.divergence is not None:
        return lines + _divergence(result.divergence)
    if result.same:
        lines.append(f"same: the head hash is {result.head_hash.hex()}")
    return lines


def _divergence(divergence: Divergence) -> list[str]:
    """The fields that differ, both values next to each other."""
    entity = "" if divergence.entity is None else f" of {divergence.entity}"
    where = f"position {divergence.position}, in the attempt at position {divergence.attempt}{entity}"
    if divergence.overtaken is not None:
        return [
            f"diverged at {where}: it does not stand after the event at position {divergence.overtaken}",
            *_look_at(divergence),
        ]
    differences = divergence.differences
    rows = [(each.path, _shortened(each.recorded), _shortened(each.decided)) for each in differences[:_SHOWN]]
    lines = [
        f"diverged at {where}:",
        *_indented(align([("FIELD", "RECORDED", "DECIDED AGAIN"), *rows])),
    ]
    if len(differences) > _SHOWN:
        lines.append(f"  and {len(differences) - _SHOWN} more fields")
    return lines + _look_at(divergence)


def _look_at(divergence: Divergence) -> list[str]:
    return [] if divergence.entity is None else ["look at:", *_indented(_looks(divergence))]


def _looks(divergence: Divergence) -> list[str]:
    """Commands that show what was decided, and on what."""
    assert divergence.entity is not None
    kind, _, key = divergence.entity.partition("/")
    namespace, _, name = key.partition("/")
    target = f"{kind} {name} -n {namespace}"
    return [
        f"ganger why {target} --at {divergence.attempt}",
        f"ganger get nodes,pods -A --at {divergence.snapshot}",
    ]


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _shortened(value: str | None) -> str:
    if value is None:
        return "(nothing)"
    return value if len(value) <= _WIDEST else f"{value[: _WIDEST - 1]}…"
