import pytest
from prometheus_client.parser import text_string_to_metric_families

from api_world import CORE, GROUPS, NODES, PODS, Api
from build import group, node, pod
from store.errors import StoreUnavailable


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz"])
def test_all_is_well(api: Api, path: str) -> None:
    reply = api.client.get(path)
    assert (reply.status_code, reply.text) == (200, "ok")
    probe = api.client.head(path)
    assert (probe.status_code, probe.headers["content-length"]) == (200, "2")


def test_a_store_that_cannot_be_read_is_told(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_: object) -> None:
        raise StoreUnavailable("the store x cannot be reached")

    monkeypatch.setattr(type(api.served.cluster.log), "head", gone)
    reply = api.client.get("/readyz")
    assert (reply.status_code, reply.text) == (
        503,
        "[-]log of default cannot be read: the store x cannot be reached",
    )
    assert api.client.get("/livez").status_code == 200


def _samples(api: Api) -> dict[str, float]:
    """Every sample that is not zero, by name and labels, those of the server's own cluster."""
    reply = api.client.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain")
    found = {}
    for family in text_string_to_metric_families(reply.text):
        for sample in family.samples:
            labels = {
                name: value for name, value in sample.labels.items() if name not in ("cluster", "profile")
            }
            if sample.value:
                found[" ".join((sample.name, *labels.values()))] = sample.value
    return found


def test_attempts_are_counted_and_what_waits_is_measured(api: Api) -> None:
    api.post(NODES, node("n", cpu="2"))
    api.post(GROUPS, group("g", min_count=2), group("fits", min_count=1))
    api.post(
        PODS, pod("a", cpu="2", group="g"), pod("b", cpu="2", group="g"), pod("c", cpu="1", group="fits")
    )
    api.post(PODS, pod("single", cpu="9"), pod("gated", gates=["example.com/hold"]))
    api.settle()
    api.post(f"{CORE}/namespaces/team/pods", pod("early", namespace="team", group="late"))
    assert _samples(api) == {
        "scheduler_podgroup_schedule_attempts_total unschedulable": 1,
        "scheduler_podgroup_schedule_attempts_total scheduled": 1,
        "scheduler_schedule_attempts_total unschedulable": 1,
        "scheduler_pending_pods backoff": 2,
        "scheduler_pending_pods unschedulable": 1,
        "scheduler_pending_pods gated": 1,
        "scheduler_pending_pods incomplete": 1,
        "scheduler_pending_entities backoff podgroup": 1,
        "scheduler_pending_entities unschedulable pod": 1,
        "scheduler_pending_entities gated pod": 1,
        "scheduler_pending_entities incomplete podgroup": 1,
        "scheduler_cache_size nodes": 1,
        "scheduler_cache_size pods": 6,
        "ganger_log_position": api.served.cluster.log.head().position,
        "ganger_build_info 0.1.0": 1,
    }
