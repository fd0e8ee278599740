"""The server as a process: from an empty folder to a bound gang, killed in between."""

import signal
import sqlite3
import subprocess
import threading
from pathlib import Path

import httpx2
import pytest

from api_world import BOOK, GROUPS, NODES, PODS
from build import group, node, pod
from serving import GANGER, TIMEOUT_S, Server, serving, start


def test_a_gang_from_its_refusal_to_its_end(tmp_path: Path, location: str) -> None:
    with serving(tmp_path, store=location) as server:
        server.post(GROUPS, group("g", min_count=2))
        server.post(PODS, pod("a", cpu="8", group="g"), pod("b", cpu="8", group="g"))
        refused_at = server.follow_until("GroupAttempted")
        why = server.get(f"{BOOK}/namespaces/default/podgroups/g/why")
        assert (why["verdict"], why["quorum"]["minCount"]) == ("Unschedulable", 2)
        acknowledged = server.get(f"{BOOK}/log/head")
        server.kill()

    with serving(tmp_path, store=location) as server:
        assert server.get(f"{BOOK}/log/{acknowledged['position']}")["hash"] == acknowledged["hash"]
        server.post(NODES, node("n1", cpu="8"), node("n2", cpu="8"))
        server.follow_until("PodBound", after=refused_at)
        for name in ("a", "b"):
            assert server.get(f"{PODS}/{name}")["spec"]["nodeName"] in ("n1", "n2")
        for path in (f"{PODS}/a", f"{PODS}/b"):
            assert server.client.delete(path, params={"gracePeriodSeconds": 0}).status_code == 200
        assert server.client.delete(f"{GROUPS}/g").status_code == 200
        assert server.client.get(f"{GROUPS}/g").status_code == 404
        history = server.get(f"{BOOK}/namespaces/default/podgroups/g/history")["items"]
        types = [item["event"]["type"] for item in history]
        assert (types[0], types[-1]) == ("PodGroupAdded", "PodGroupDeleted")
        assert {"GroupAttempted", "PodBound"} <= set(types)
        assert server.stop() == 0


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    acknowledged: dict[str, str] = {}
    enough = threading.Event()

    def create(server: Server, client: int) -> None:
        with httpx2.Client(base_url=server.client.base_url, timeout=TIMEOUT_S) as http:
            for number in range(1_000):
                name = f"p{client}-{number}"
                try:
                    reply = http.post(PODS, json=pod(name, cpu="1"))
                except httpx2.TransportError:
                    return
                acknowledged[name] = reply.json()["metadata"]["resourceVersion"]
                if len(acknowledged) >= 60:
                    enough.set()

    with serving(tmp_path) as server:
        clients = [threading.Thread(target=create, args=(server, number)) for number in range(6)]
        for client in clients:
            client.start()
        assert enough.wait(TIMEOUT_S)
        server.kill()
        for client in clients:
            client.join(TIMEOUT_S)

    with serving(tmp_path, "--no-worker") as server:
        items = server.get(f"{BOOK}/log?limit=10000")["items"]
        kept = {
            item["event"]["payload"]["key"].removeprefix("default/"): str(item["event"]["position"])
            for item in items
            if item["event"]["type"] == "PodAdded"
        }
        assert kept | acknowledged == kept
        assert server.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_while_somebody_follows(tmp_path: Path, number: int) -> None:
    with serving(tmp_path) as server:
        server.post(NODES, node("n"))
        headers = {"Accept": "text/event-stream"}
        with server.client.stream("GET", f"{BOOK}/log", headers=headers) as stream:
            lines = stream.iter_lines()
            assert next(lines) == "id: 1"
            assert server.stop(number) == 0
            assert [line for line in lines if line.startswith("id: ")] == []
    with serving(tmp_path) as server:
        assert server.post(PODS, pod("p", cpu="1"))[0]["metadata"]["name"] == "p"
        server.follow_until("PodBound")


def test_without_a_worker_nothing_is_decided(tmp_path: Path) -> None:
    with serving(tmp_path, "--no-worker") as server:
        server.post(NODES, node("n"))
        server.post(PODS, pod("p", cpu="1"))
        run = subprocess.run(
            [str(GANGER), "run", "--until-settled"], cwd=tmp_path, capture_output=True, check=False
        )
        assert run.returncode == 0
        assert server.get(f"{PODS}/p")["spec"]["nodeName"] == "n"
        outcomes = [item["event"]["actor"] for item in server.get(f"{BOOK}/log")["items"]]
        assert outcomes[:3] == ["user", "user", "scheduler"]


def test_a_wrong_byte_stops_it_at_thestart(tmp_path: Path) -> None:
    with serving(tmp_path, "--no-worker") as server:
        server.post(NODES, node("n1"), node("n2"), node("n3"))
        assert server.stop() == 0
    with sqlite3.connect(tmp_path / "ganger.db") as connection:
        connection.execute("UPDATE events SET line = replace(line, 'n2', 'n9') WHERE position = 2")
    connection.close()
    process = start(tmp_path)
    _, told = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 2
    assert "position 2" in told
    assert "Traceback" not in told


def test_an_address_that_is_taken(tmp_path: Path) -> None:
    with serving(tmp_path, "--no-worker") as server:
        process = start(tmp_path, "--no-worker", "--port", str(server.client.base_url.port))
        _, told = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 2
    assert "cannot listen on 127.0.0.1:" in told
    assert "Traceback" not in told
