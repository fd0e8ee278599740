"""What would help, as part of an explanation."""

from msgspec.structs import replace

from domain.explaining.wording import named
from domain.explanation import Change, Explanation
from domain.whathelps.changes import Proved
from domain.whathelps.search import Help


def with_help(told: Explanation, found: Help) -> Explanation:
    """`told` with what was found to help."""
    changes = tuple(map(_change, found.changes))
    return replace(told, would_help=changes, would_help_cut_off=found.cut_off)


def _change(proved: Proved) -> Change:
    candidate = proved.candidate
    evicting = f", which evicts {named(f'Pod {key}' for key in proved.evicted)}" if proved.evicted else ""
    return Change(
        change=f"{candidate.text}{evicting}",
        proved=True,
        kind=candidate.kind,
        subjects=candidate.subjects,
        before=candidate.before,
        after=candidate.after,
        evicts=proved.evicted,
    )
