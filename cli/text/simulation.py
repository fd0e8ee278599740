"""What a simulated trace came to."""

from cli.console import align
from domain.ages import duration
from worker.simulating import SimulationSummary


def summary_lines(summary: SimulationSummary) -> list[str]:
    """The figures of a simulation, a line each."""
    waits = summary.waits
    rows = [
        ("Nodes:", str(summary.nodes)),
        ("Jobs:", f"{summary.jobs} ({summary.skipped} that never started are left out)"),
        ("Gangs:", f"{summary.gangs_started} started of {summary.gangs}"),
        ("Pods bound:", str(summary.pods_bound)),
        ("Attempts:", f"{summary.attempts}, of which {summary.rejected} rejected"),
        (
            "Waiting time of gangs:",
            "none started"
            if waits is None
            else f"p50 {duration(waits.p50_us)}, p95 {duration(waits.p95_us)}, max {duration(waits.max_us)}",
        ),
        ("Longest wait:", summary.longest or "none"),
        ("GPU use:", _percent(summary.gpu_permille)),
        ("Time simulated:", duration(summary.span_us)),
    ]
    return align(rows)


def _percent(permille: int | None) -> str:
    return "no GPUs" if permille is None else f"{permille // 10}.{permille % 10} %"
