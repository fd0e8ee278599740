"""Nodes, and kinds of which nothing is scheduled: what they are, rather than why."""

from domain.amounts import quantity_of
from domain.explaining.question import Question, ref_of
from domain.explaining.wording import number_of, so_many
from domain.explanation import Capacity, Explanation, Fate, OnNode
from domain.node_facts import NodeFacts
from domain.objects import Kept, NodeRecord
from domain.resources import PODS
from domain.state import State
from domain.taints import written
from domain.times import rfc3339_micro


def explain_node(question: Question, record: NodeRecord) -> Explanation:
    """What the node has, what is on it, and what keeps Pods off it."""
    state = question.state
    facts = state.nodes.facts(record.key)
    pods = sorted(
        (pod for pod in state.pods.values() if pod.node == record.key and not pod.terminal),
        key=lambda pod: pod.arrival,
    )
    note = f"{so_many(len(pods), 'Pod')} {number_of(len(pods), 'is', 'are')} on it"
    if facts.unschedulable:
        note += "; it is cordoned (spec.unschedulable)"
    if facts.taints:
        note += f"; it is tainted {', '.join(map(written, facts.taints))}"
    return Explanation(
        object=ref_of("Node", record.key, record.uid),
        at=question.at,
        verdict=Fate.UNSCHEDULABLE if facts.unschedulable else Fate.PRESENT,
        note=note,
        bound=(OnNode(node=record.key, pods=tuple(pod.key for pod in pods)),) if pods else (),
        since=rfc3339_micro(record.created_us),
        capacity=_capacity(state, facts),
    )


def _capacity(state: State, facts: NodeFacts) -> tuple[Capacity, ...]:
    """Each resource of a node, `pods` first."""
    used = state.nodes.used(facts.name)
    capacity = []
    for resource in sorted(facts.allocatable, key=lambda name: (name != PODS, name)):
        has, taken = int(facts.allocatable[resource]), used.get(resource, 0)
        capacity.append(
            Capacity(
                name=resource,
                allocatable=quantity_of(resource, has),
                used=quantity_of(resource, taken),
                free=quantity_of(resource, max(has - taken, 0)),
            )
        )
    return tuple(capacity)


def explain_kept(question: Question, kind: str, kept: Kept) -> Explanation:
    """An object of which nothing is scheduled."""
    note = "it exists, and nothing of it is scheduled"
    if kind == "PriorityClass":
        note = f"it gives priority {question.state.priority_classes[kept.key].value}"
    return Explanation(
        object=ref_of(kind, kept.key, kept.uid),
        at=question.at,
        verdict=Fate.PRESENT,
        note=note,
        since=rfc3339_micro(kept.created_us),
    )
