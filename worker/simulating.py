"""Running a trace: its jobs arrive, wait, run and end under virtual time, all through the log."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from domain.errors import GangerError
from domain.events import Event, GroupAttempted, PodAdded, PodBound, PodUpdated
from domain.state import State
from domain.times import SECOND
from worker.clocks import START, VirtualClock
from worker.cluster import Cluster
from worker.loop import Worker
from worker.traces import GPU, Job, Trace

ACTOR = "trace"

Progress = Callable[[int, int], None]
"""Told how many jobs have arrived, and of how many."""


@dataclass(frozen=True)
class Waits:
    """Waiting times of the gangs that started, in microseconds: nearest-rank percentiles."""

    p50_us: int
    p95_us: int
    max_us: int


@dataclass(frozen=True)
class SimulationSummary:
    """What a trace came to. `skipped` jobs never started in the trace and were left out.

    `longest` is the subject of the gang that waited longest, `first_rejection` the position of
    its first rejected attempt (None if it was never rejected). `gpu_permille` is how much of all
    GPU time from the first arrival to the last end was used, in thousandths; None without GPUs.
    """

    nodes: int
    jobs: int
    skipped: int
    gangs: int
    gangs_started: int
    pods_bound: int
    attempts: int
    rejected: int
    waits: Waits | None
    longest: str | None
    first_rejection: int | None
    gpu_permille: int | None
    span_us: int


def simulate(
    cluster: Cluster,
    clock: VirtualClock,
    trace: Trace,
    *,
    nodes: int | None = None,
    speedup: int = 1,
    progress: Progress | None = None,
) -> SimulationSummary:
    """Run `trace` on its first `nodes` nodes (all if None) in an empty cluster, to the last end.

    Jobs arrive `speedup` times as fast as in the trace and run as long as there. Raises a
    GangerError if the cluster has a log already.
    """
    if cluster.state.position:
        raise GangerError(f"the cluster is not empty: its log is at position {cluster.state.position}")
    kept = trace.nodes[:nodes]
    jobs = [job for job in trace.jobs if job.duration_s is not None]
    tally = _Tally(jobs)
    cluster.listen(tally.observe)
    worker = Worker(cluster)
    clock.advance_to(START)
    cluster.apply(kept, actor=ACTOR)
    for number, job in enumerate(jobs, 1):
        worker.advance(clock, START + job.submit_s * SECOND // speedup)
        cluster.apply(job.manifests(), actor=ACTOR)
        if progress is not None:
            progress(number, len(jobs))
    worker.settle(clock)
    gpus = sum(int(node["status"]["allocatable"].get(GPU, 0)) for node in kept)
    return tally.summary(
        nodes=len(kept), skipped=len(trace.jobs) - len(jobs), gpus=gpus, started=START, ended=clock.now()
    )


class _Tally:
    """Counts as events come."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = len(jobs)
        self._gpus = {job.name: int(job.requests.get(GPU, 0)) for job in jobs}
        self._gangs = sum(job.is_gang for job in jobs)
        self._arrived: dict[str, int] = {}
        self._started: dict[str, int] = {}
        self._first_rejection: dict[str, int] = {}
        self._running: dict[str, int] = {}
        self._gpu_us = 0
        self._bound = 0
        self._attempts = 0
        self._rejected = 0

    def observe(self, state: State, events: Sequence[Event]) -> None:
        """Take note of `events`, of which `state` is the outcome."""
        for event in events:
            match event.payload:
                case PodAdded(group=str(group)):
                    self._arrived.setdefault(f"PodGroup/{group}", event.at)
                case GroupAttempted() as attempt:
                    self._attempts += 1
                    if attempt.outcome != "scheduled":
                        self._rejected += 1
                        self._first_rejection.setdefault(attempt.entity, event.position)
                case PodBound() as bound:
                    self._bound += 1
                    self._running[bound.pod] = event.at
                    if bound.group is not None:
                        self._started.setdefault(f"PodGroup/{bound.group}", event.at)
                case PodUpdated() as updated if (began := self._running.get(updated.key)) is not None:
                    pod = state.pods.get(updated.key)
                    if pod is not None and pod.terminal:
                        del self._running[updated.key]
                        job = (updated.group or updated.key).partition("/")[2]
                        self._gpu_us += self._gpus[job] * (event.at - began)

    def summary(self, *, nodes: int, skipped: int, gpus: int, started: int, ended: int) -> SimulationSummary:
        """What it all came to."""
        waits = {gang: at - self._arrived[gang] for gang, at in self._started.items()}
        longest = max(waits, key=lambda gang: (waits[gang], gang), default=None)
        span = ended - started
        return SimulationSummary(
            nodes=nodes,
            jobs=self._jobs,
            skipped=skipped,
            gangs=self._gangs,
            gangs_started=len(self._started),
            pods_bound=self._bound,
            attempts=self._attempts,
            rejected=self._rejected,
            waits=_percentiles(sorted(waits.values())) if waits else None,
            longest=longest,
            first_rejection=None if longest is None else self._first_rejection.get(longest),
            gpu_permille=self._gpu_us * 1000 // (gpus * span) if gpus and span else None,
            span_us=span,
        )


def _percentiles(ordered: Sequence[int]) -> Waits:
    def rank(percent: int) -> int:
        return ordered[-(-len(ordered) * percent // 100) - 1]

    return Waits(p50_us=rank(50), p95_us=rank(95), max_us=ordered[-1])
