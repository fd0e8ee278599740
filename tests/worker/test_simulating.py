"""Simulation: a trace runs through the log under virtual time, and what it came to adds up."""

from collections.abc import Callable

import pytest

from build import node
from domain.admission.kinds import kind_named
from domain.errors import GangerError
from domain.times import SECOND
from store.engine import Store
from worker.clocks import START, VirtualClock
from worker.cluster import Cluster
from worker.replaying import StoredLog, replay
from worker.simulating import SimulationSummary, Waits, simulate
from worker.traces import Job, Trace

GPU = "nvidia.com/gpu"


def job(name: str, submit: int, duration: int | None, pods: int, gpus: int, least: int | None = None) -> Job:
    return Job(name, submit, duration, pods, least or pods, {"cpu": "1", GPU: str(gpus)}, (), None)


def trace(*jobs: Job, nodes: int = 2) -> Trace:
    """Nodes with four GPUs each."""
    return Trace("made-up", tuple(node(f"n{number}", gpu=4, cpu="64") for number in range(nodes)), jobs)


@pytest.fixture
def run(sqlite_store: Store) -> Callable[..., tuple[SimulationSummary, Cluster]]:
    def simulated(made: Trace, stream: str = "s", **options: object) -> tuple[SimulationSummary, Cluster]:
        clock = VirtualClock(0)
        cluster = Cluster.open(sqlite_store, stream, clock=clock)
        return simulate(cluster, clock, made, **options), cluster

    return simulated


def test_gangs_that_fit_start_at_once(run: Callable) -> None:
    summary, cluster = run(trace(job("a", 10, 100, 2, 2), job("b", 20, 50, 2, 2)))
    assert summary == SimulationSummary(
        nodes=2,
        jobs=2,
        skipped=0,
        gangs=2,
        gangs_started=2,
        pods_bound=4,
        attempts=2,
        rejected=0,
        waits=Waits(0, 0, 0),
        longest="PodGroup/default/b",
        first_rejection=None,
        gpu_permille=(2 * 2 * 100 + 2 * 2 * 50) * 1000 // (8 * 110),
        span_us=110 * SECOND,
    )
    assert {each.phase for each in cluster.state.pods.values()} == {"Succeeded"}
    assert replay(StoredLog(cluster.log)).same


def test_a_gang_that_has_to_wait_is_counted_from_its_arrival(run: Callable) -> None:
    """`b` needs all GPUs of the two nodes and comes while `a` has half of them, until 100 s."""
    summary, cluster = run(trace(job("a", 0, 100, 2, 2), job("b", 10, 30, 4, 2)))
    assert (summary.gangs_started, summary.rejected, summary.longest) == (2, 1, "PodGroup/default/b")
    assert summary.waits == Waits(0, 90 * SECOND, 90 * SECOND)
    assert summary.span_us == 130 * SECOND
    assert summary.first_rejection is not None
    rejected = cluster.event(summary.first_rejection).payload
    assert (rejected.entity, rejected.outcome, rejected.at) == (
        "PodGroup/default/b",
        "unschedulable",
        START + 10 * SECOND,
    )


def test_a_gang_that_never_starts_waits_for_nothing_in_the_figures(run: Callable) -> None:
    summary, _ = run(trace(job("big", 0, 10, 3, 4)))
    assert (summary.gangs, summary.gangs_started, summary.rejected) == (1, 0, 1)
    assert (summary.waits, summary.longest, summary.first_rejection) == (None, None, None)


def test_jobs_that_never_started_in_the_trace_are_left_out(run: Callable) -> None:
    summary, cluster = run(trace(job("a", 0, None, 2, 1), job("b", 0, 5, 1, 1)))
    assert (summary.jobs, summary.skipped, summary.gangs) == (1, 1, 0)
    assert list(cluster.state.pods) == ["default/b"]


def test_members_beyond_the_minimum_may_start_later(run: Callable) -> None:
    summary, _ = run(trace(job("a", 0, 20, 2, 2), job("b", 1, 20, 4, 2, least=2)))
    assert summary.gangs_started == 2
    assert summary.pods_bound == 6
    assert summary.waits == Waits(0, 0, 0)


def test_fewer_nodes_and_faster_arrivals(run: Callable) -> None:
    made = trace(job("a", 0, 100, 2, 2), job("b", 200, 10, 2, 2), nodes=3)
    one, _ = run(made, nodes=1)
    assert (one.nodes, one.span_us, one.rejected) == (1, 210 * SECOND, 0)
    fast, _ = run(made, "fast", nodes=1, speedup=10)
    assert fast.waits is not None
    assert (fast.rejected, fast.waits.max_us, fast.span_us) == (1, 80 * SECOND, 110 * SECOND)


def test_without_gpus_there_is_no_use_of_them(run: Callable) -> None:
    made = Trace("plain", (node("n"),), (Job("a", 0, 5, 2, 2, {"cpu": "1"}, (), None),))
    assert run(made)[0].gpu_permille is None


def test_an_empty_trace(run: Callable) -> None:
    summary, _ = run(trace())
    assert (summary.jobs, summary.span_us, summary.gpu_permille, summary.waits) == (0, 0, None, None)


def test_progress_is_told_of_every_job(run: Callable) -> None:
    told: list[tuple[int, int]] = []
    run(
        trace(*[job(f"j{number}", number, 5, 1, 1) for number in range(3)]),
        progress=lambda *at: told.append(at),
    )
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_cluster_that_is_not_empty_is_left_alone(sqlite_store: Store) -> None:
    clock = VirtualClock(START)
    cluster = Cluster.open(sqlite_store, "s", clock=clock)
    cluster.apply([node("n")])
    with pytest.raises(GangerError, match="the cluster is not empty: its log is at position 1"):
        simulate(cluster, clock, trace())
    assert cluster.log.head().position == 1


def test_the_same_trace_gives_the_same_figures_and_the_same_decisions(run: Callable) -> None:
    jobs = [job(f"j{number}", number * 7, 30 + number, 1 + number % 3, 2) for number in range(12)]
    (one, first), (other, second) = run(trace(*jobs), "one"), run(trace(*jobs), "two")
    assert one == other
    kind = kind_named("pod")
    placed = [
        [each["spec"].get("nodeName") for each in cluster.shown_all(kind)] for cluster in (first, second)
    ]
    assert placed[0] == placed[1]
