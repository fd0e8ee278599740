"""Traces: CSV files become manifests that admission takes, and a wrong field is named."""

from pathlib import Path

import pytest

from books import Book
from domain.errors import GangerError
from worker.traces import BadTrace, Job, read_trace

EXAMPLE = Path(__file__).parents[2] / "examples" / "traces" / "acme-kalos-2023"
NODES = "name,cpu_milli,memory_mib,gpu,gpu_model,origin"
JOBS = "job,submit_s,duration_s,pods,min_count,cpu_milli,memory_mib,gpu,gpu_model,queue"


def folder(path: Path, nodes: str = NODES, jobs: str = JOBS, *, node: str = "", job: str = "") -> Path:
    (path / "nodes.csv").write_text("\n".join(filter(None, [nodes, node])) + "\n")
    (path / "jobs.csv").write_text("\n".join(filter(None, [jobs, job])) + "\n")
    return path


def test_the_example_is_read_whole() -> None:
    trace = read_trace(EXAMPLE)
    assert (trace.name, len(trace.nodes), len(trace.jobs)) == ("acme-kalos-2023", 302, 319)
    assert sum(job.is_gang for job in trace.jobs) == 230
    assert max(job.pods for job in trace.jobs) == 128
    assert [job.submit_s for job in trace.jobs] == sorted(job.submit_s for job in trace.jobs)


def test_every_kind_of_manifest_is_admitted() -> None:
    trace = read_trace(EXAMPLE)
    some = [manifest for job in trace.jobs[:5] for manifest in job.manifests()]
    outcomes = Book().apply([*trace.nodes[:3], *some])
    assert {outcome.change for outcome in outcomes} == {"created"}
    assert {warning for outcome in outcomes for warning in outcome.warnings} == set()


def test_a_node_has_what_its_line_says(tmp_path: Path) -> None:
    made = folder(
        tmp_path,
        nodes=f"{NODES},rack,queue",
        node="n1,2500,1024,8,A100,trace,r7,research\nn2,1000,512,0,,trace,,",
    )
    first, second = read_trace(made).nodes
    assert first["metadata"] == {
        "name": "n1",
        "labels": {
            "kubernetes.io/hostname": "n1",
            "ganger.dev/rack": "r7",
            "ganger.dev/queue": "research",
            "ganger.dev/gpu-model": "A100",
        },
    }
    assert first["status"]["allocatable"] == {
        "pods": "110",
        "cpu": "2500m",
        "memory": "1024Mi",
        "nvidia.com/gpu": "8",
    }
    assert second["metadata"]["labels"] == {"kubernetes.io/hostname": "n2"}
    assert second["status"]["allocatable"] == {"pods": "110", "cpu": "1000m", "memory": "512Mi"}


def test_a_job_of_several_pods_is_a_gang(tmp_path: Path) -> None:
    (job,) = read_trace(folder(tmp_path, job="train,60,3600,3,2,8000,1024,4,A100|H100,")).jobs
    made, *pods = job.manifests()
    assert made["kind"] == "PodGroup"
    assert made["spec"] == {"schedulingPolicy": {"gang": {"minCount": 2}}}
    assert [each["metadata"]["name"] for each in pods] == ["train-0", "train-1", "train-2"]
    (first, *_) = pods
    assert first["metadata"]["annotations"] == {"ganger.dev/run-seconds": "3600"}
    assert first["spec"]["schedulingGroup"] == {"podGroupName": "train"}
    (container,) = first["spec"]["containers"]
    assert container["resources"] == {
        "requests": {"cpu": "8000m", "memory": "1024Mi", "nvidia.com/gpu": "4"},
        "limits": {"nvidia.com/gpu": "4"},
    }
    terms = first["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert terms["nodeSelectorTerms"] == [
        {"matchExpressions": [{"key": "ganger.dev/gpu-model", "operator": "In", "values": ["A100", "H100"]}]}
    ]


def test_a_job_of_one_is_a_pod_by_itself(tmp_path: Path) -> None:
    (job,) = read_trace(folder(tmp_path, job="one,0,,1,1,,,,,")).jobs
    assert job == Job("one", 0, None, 1, 1, {}, (), None)
    (only,) = job.manifests()
    assert only["metadata"] == {"name": "one", "namespace": "default"}
    assert only["spec"] == {"containers": [{"name": "main", "image": "job", "resources": {"requests": {}}}]}


@pytest.mark.parametrize(
    ("nodes_have_queues", "selector"),
    [
        pytest.param(True, {"ganger.dev/queue": "vision"}, id="divided"),
        pytest.param(False, None, id="not divided"),
    ],
)
def test_a_queue_counts_where_the_nodes_are_divided(
    nodes_have_queues: bool, selector: dict | None, tmp_path: Path
) -> None:
    extra = ",queue" if nodes_have_queues else ""
    node = "n1,1000,1024,0,,trace" + (",vision" if nodes_have_queues else "")
    (job,) = read_trace(
        folder(tmp_path, nodes=NODES + extra, node=node, job="a,0,5,1,1,100,1,0,,vision")
    ).jobs
    assert job.manifests()[0]["spec"].get("nodeSelector") == selector


def test_jobs_come_in_the_order_of_submission_then_name(tmp_path: Path) -> None:
    made = folder(tmp_path, job="b,5,1,1,1,,,,,\nc,0,1,1,1,,,,,\na,5,1,1,1,,,,,")
    assert [job.name for job in read_trace(made).jobs] == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        pytest.param({"job": ",0,1,1,1,,,,,"}, "jobs.csv, line 2: job: must not be empty", id="no name"),
        pytest.param({"job": "a,,1,1,1,,,,,"}, "jobs.csv, line 2: submit_s: must not be empty", id="no time"),
        pytest.param(
            {"job": "ok,0,1,1,1,,,,,\na,-5,1,1,1,,,,,"},
            "jobs.csv, line 3: submit_s: '-5': must be a whole number from 0 on",
            id="before time",
        ),
        pytest.param(
            {"job": "a,0,1.5,1,1,,,,,"}, "duration_s: '1.5': must be a whole number", id="part of a second"
        ),
        pytest.param({"job": "a,0,1,0,1,,,,,"}, "pods: '0': must be a whole number from 1 on", id="no Pods"),
        pytest.param(
            {"job": "a,0,1,1,0,,,,,"}, "min_count: '0': must be a whole number from 1", id="minimum 0"
        ),
        pytest.param(
            {"job": "a,0,1,1,1,lots,,,,"}, "cpu_milli: 'lots': must be a whole number", id="no number"
        ),
        pytest.param({"job": "a,0"}, "pods: must not be empty", id="a short line"),
        pytest.param(
            {"jobs": "job,submit_s"}, "jobs.csv: has no column duration_s, pods, min_count", id="columns"
        ),
        pytest.param(
            {"nodes": "name,gpu"}, "nodes.csv: has no column cpu_milli, memory_mib", id="node columns"
        ),
        pytest.param(
            {"node": ",1,1,1,,"}, "nodes.csv, line 2: name: must not be empty", id="node without a name"
        ),
        pytest.param({"node": "n,1,x,1,,"}, "nodes.csv, line 2: memory_mib: 'x': must be", id="node amount"),
    ],
)
def test_a_wrong_field_is_named(changes: dict[str, str], text: str, tmp_path: Path) -> None:
    with pytest.raises(BadTrace) as caught:
        read_trace(folder(tmp_path, **changes))
    assert text in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BadTrace, match=r"nodes\.csv: No such file or directory"):
        read_trace(tmp_path)
    folder(tmp_path)
    (tmp_path / "jobs.csv").write_bytes(b"job,\xff\xfe\n")
    with pytest.raises(BadTrace, match=r"jobs\.csv: is not UTF-8 text"):
        read_trace(tmp_path)
    assert issubclass(BadTrace, GangerError)
