"""`ganger serve` as a process of its own, and a client of it."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from api_world import BOOK

GANGER = Path(sys.executable).with_name("ganger")
TIMEOUT_S = 60


class Server:
    """A running `ganger serve`."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process = process
        self.client = httpx2.Client(base_url=url, timeout=TIMEOUT_S)

    def post(self, path: str, *manifests: Any) -> list[Any]:
        replies = [self.client.post(path, json=manifest) for manifest in manifests]
        assert all(reply.status_code == 201 for reply in replies), replies[-1].text
        return [reply.json() for reply in replies]

    def get(self, path: str) -> Any:
        reply = self.client.get(path)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def follow_until(self, event_type: str, after: int = 0) -> int:
        """Follow the log from `after` on; the position of the first event of a type."""
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
        with self.client.stream("GET", f"{BOOK}/log", headers=headers) as stream:
            for line in stream.iter_lines():
                if line.startswith("data: "):
                    event = json.loads(line.removeprefix("data: "))["event"]
                    if event["type"] == event_type:
                        return int(event["position"])
        raise AssertionError(f"the stream ended without {event_type}")

    def kill(self) -> None:
        """As the machine's power cut would end it."""
        self.process.kill()
        self.process.wait(TIMEOUT_S)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to end; its exit code."""
        self.process.send_signal(number)
        return self.process.wait(TIMEOUT_S)


def start(folder: Path, *words: str, store: str = "ganger.db") -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GANGER_")}
    command = [str(GANGER), "--store", store, "serve", "--port", "0", *words]
    return subprocess.Popen(
        command, cwd=folder, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )


@contextmanager
def serving(folder: Path, *words: str, store: str = "ganger.db") -> Iterator[Server]:
    process = start(folder, *words, store=store)
    assert process.stderr is not None
    url = None
    told = []
    for line in process.stderr:
        told.append(line)
        if "http://" in line:
            url = line.rstrip().rpartition(" ")[2]
            break
    assert url is not None, "".join(told)
    draining = threading.Thread(target=process.stderr.read)
    draining.start()
    server = Server(process, url)
    try:
        yield server
    finally:
        server.client.close()
        if process.poll() is None:
            server.kill()
        draining.join(TIMEOUT_S)
        process.stderr.close()
