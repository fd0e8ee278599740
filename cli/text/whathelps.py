"""What would help, as people read it: one change a line, cheapest first."""

from cli.text.lines import FAINT, LABEL, Page
from domain.explanation import Explanation


def add_help(page: Page, told: Explanation) -> None:
    """Add the changes that would start what waits, and whether there may be more."""
    if told.would_help:
        page.gap()
        page.line("  ", ("Would help", LABEL), (" (each was tried on a copy)", FAINT))
        for change in told.would_help:
            page.line("    ", change.change)
    if told.would_help_cut_off:
        if not told.would_help:
            page.gap()
        page.line("  ", ("The search for what would help was cut off; --deadline gives it longer.", FAINT))
