"""Logs in memory, written event by event and folded without a store."""

import msgspec

from domain import events as ev
from domain.envelope import canonical
from domain.explain import attempt_at, explain
from domain.explaining.findings import Recorded
from domain.explaining.question import Binding
from domain.explanation import Explanation
from domain.reducer import fold
from domain.scheduling.cycle import decide
from domain.state import State
from domain.times import SECOND
from ganger_testing.manifests import Manifest, key_of
from worker.clocks import START


def fact(manifest: Manifest, change: str = "Added") -> ev.Payload:
    """The event that `manifest` was added or replaced (`Updated`), as admission would write it."""
    stored = {
        **manifest,
        "metadata": {"uid": f"uid-of-{manifest['metadata']['name']}", **manifest["metadata"]},
    }
    fields: Manifest = {"key": key_of(manifest), "object": msgspec.Raw(canonical(stored))}
    if manifest["kind"] == "Pod":
        spec = manifest["spec"]
        name = spec.get("schedulingGroup", {}).get("podGroupName")
        fields["group"] = None if name is None else f"{manifest['metadata']['namespace']}/{name}"
        fields["node"] = spec.get("nodeName")
    return ev.PAYLOADS[f"{manifest['kind']}{change}"](**fields)


class Story:
    """A log in memory and the State that it folds to; `now` is the time of what is appended."""

    def __init__(self, *manifests: Manifest) -> None:
        self.events: list[ev.Event] = []
        self.state = State()
        self.now = START
        self.add(*manifests)

    def add(self, *manifests: Manifest) -> "Story":
        """Append that each of `manifests` was added."""
        return self.append(*map(fact, manifests))

    def append(self, *payloads: ev.Payload) -> "Story":
        """Append `payloads`."""
        first = self.state.position + 1
        events = [ev.Event(first + index, self.now, payload) for index, payload in enumerate(payloads)]
        self.events += events
        fold(self.state, events)
        return self

    def wait(self, seconds: int) -> "Story":
        """Let time pass."""
        self.now += seconds * SECOND
        return self

    def decide(self) -> "Story":
        """Decide everything that is due now, and append it."""
        while (decision := decide(self.state, self.now)) is not None:
            self.append(*decision.payloads)
        return self

    def why(self, subject: str) -> Explanation:
        """The explanation of `subject` (`Pod/default/a`), with what this log knows of it."""
        kind, _, key = subject.partition("/")
        position = attempt_at(self.state, kind, key)
        binding = None
        for event in self.events:
            if isinstance(event.payload, ev.PodBound) and event.payload.pod == key:
                binding = Binding(event.position, event.at, event.payload.node)
        if binding is not None:
            position = max(at for at in self._attempts() if at < binding.position)
        attempt = None if position is None else self._recorded(position)
        return explain(self.state, kind, key, now=self.now, attempt=attempt, binding=binding)

    def _attempts(self) -> list[int]:
        return [event.position for event in self.events if isinstance(event.payload, ev.GroupAttempted)]

    def _recorded(self, position: int) -> Recorded:
        attempt = self.events[position - 1].payload
        assert isinstance(attempt, ev.GroupAttempted)
        findings_position = attempt.same_as or position
        findings = self.events[findings_position - 1].payload
        assert isinstance(findings, ev.GroupAttempted)
        return Recorded(position, attempt, findings_position, findings)
