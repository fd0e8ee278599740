"""What exactly keeps a Pod off nodes where Kubernetes' text names only the kind of rule: which taint,
which labels, which Pods."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from domain.events import ShapeFinding
from domain.explaining.node_names import compressed
from domain.explaining.wording import named, number_of
from domain.host_ports import HostPort
from domain.peers import PodTerm, SpreadConstraint, near
from domain.scheduling.rules import shaped
from domain.selectors import LabelSelector, Requirement, Term
from domain.shapes import PodShape
from domain.state import State
from domain.taints import PREFER_NO_SCHEDULE, Taint, tolerated, written

_MOST = 3
_OPERATORS = {"In": "in", "NotIn": "notin", "Gt": ">", "Lt": "<"}


def obstacles(state: State, found: ShapeFinding) -> tuple[str, ...]:
    """A sentence for each rule that ruled nodes out for Pods of one shape, as the rules and nodes are now."""
    filters = dict.fromkeys(reason.filter for reason in found.nodes)
    return tuple(sentence for name in filters for sentence in of_filter(state, found, name))


def of_filter(state: State, found: ShapeFinding, name: str) -> tuple[str, ...]:
    """What there is to say of the filter `name`: nothing where its reasons say all, as of resources."""
    pod = next((state.pods[key] for key in found.pods if key in state.pods), None)
    if pod is None:
        return ()
    ((_, shape),) = shaped(state, [pod])
    return tuple(_of_filter(state, shape, name))


def _of_filter(state: State, shape: PodShape, name: str) -> Iterator[str]:
    match name:
        case "TaintToleration":
            yield from _taints(state, shape)
        case "NodeAffinity":
            yield from _selection(state, shape)
        case "NodePorts":
            yield f"it asks for {_ports(shape.host_ports)} of its node"
        case "PodTopologySpread":
            yield from map(_spread, (constraint for constraint in shape.spread if constraint.hard))
        case "InterPodAffinity":
            yield from _company(state, shape)


def _taints(state: State, shape: PodShape) -> Iterator[str]:
    """The taints that it does not tolerate, those of most nodes first."""
    nodes: dict[Taint, list[str]] = {}
    for name in sorted(state.node_records):
        for taint in state.nodes.facts(name).taints:
            if taint.effect != PREFER_NO_SCHEDULE and not tolerated(taint, shape.tolerations):
                nodes.setdefault(taint, []).append(name)
    most_first = sorted(nodes.items(), key=lambda item: (-len(item[1]), item[0]))
    for taint, names in most_first[:_MOST]:
        yield f"it does not tolerate the taint {written(taint)} of {named(compressed(names))}"
    if len(most_first) > _MOST:
        yield f"nor {len(most_first) - _MOST} other taints"


def _selection(state: State, shape: PodShape) -> Iterator[str]:
    """The labels it asks for, and what nodes have of them."""
    wanted = [f"{key}={value}" for key, value in shape.node_selector]
    wanted += [" or ".join(map(_term, shape.required))] if shape.required else []
    keys = [key for key, _ in shape.node_selector]
    keys += [one.key for term in shape.required or () for one in term.labels]
    there = []
    for key in list(dict.fromkeys(keys))[:_MOST]:
        labels = (state.nodes.facts(name).labels for name in state.node_records)
        values = Counter(found[key] for found in labels if key in found)
        there.append(f"of {key} {_values(values)}")
    yield ", and ".join((f"it asks for nodes with {', '.join(wanted)}", *there))


def _values(values: Mapping[str, int]) -> str:
    if not values:
        return "no node has any value"
    ranked = sorted(values.items(), key=lambda item: (-item[1], item[0]))
    told = [
        f"{count} {number_of(count, 'node has', 'nodes have')} {value or '(empty)'}"
        for value, count in ranked
    ]
    return named(told)


def _spread(constraint: SpreadConstraint) -> str:
    return (
        f"Pods with {_labels(constraint.selector)} may differ by {constraint.max_skew} between the values of "
        f"{constraint.topology_key}"
    )


def _ports(ports: Iterable[HostPort]) -> str:
    told = [f"{port.protocol} {port.port}" for port in ports]
    return f"the host {number_of(len(told), 'port', 'ports')} {named(told)}"


def _company(state: State, shape: PodShape) -> Iterator[str]:
    """Its own rules about other Pods, and a Pod on a node that has one against it."""
    peer = shape.peer
    if peer is None:
        return
    if peer.terms is not None:
        yield from (f"it has to be near {_others(term)}" for term in peer.terms.affinity[:_MOST])
        yield from (f"it may not be near {_others(term)}" for term in peer.terms.anti_affinity[:_MOST])
    for pod in state.pods.values():
        against = None if pod.node is None or pod.terminal else pod.spec.shape.peer
        if against is None or against.terms is None:
            continue
        for term in against.terms.anti_affinity:
            if near(term, peer, state.nodes.crowd.namespaces):
                yield f"Pod {pod.key} on {pod.node} may not be near {_others(term)}"
                return


def _others(term: PodTerm) -> str:
    return f"Pods with {_labels(term.selector)}, by {term.topology_key}"


def _labels(selector: LabelSelector) -> str:
    if selector is None:
        return "no labels at all"
    return ", ".join(map(_requirement, selector)) or "any labels"


def _term(term: Term) -> str:
    return " and ".join(map(_requirement, (*term.labels, *term.fields)))


def _requirement(one: Requirement) -> str:
    """A requirement as kubectl writes it."""
    match one.operator:
        case "In" if len(one.values) == 1:
            return f"{one.key}={one.values[0]}"
        case "NotIn" if len(one.values) == 1:
            return f"{one.key}!={one.values[0]}"
        case "Exists":
            return one.key
        case "DoesNotExist":
            return f"!{one.key}"
        case "Gt" | "Lt":
            return f"{one.key} {_OPERATORS[one.operator]} {one.values[0]}"
        case _:
            return f"{one.key} {_OPERATORS[one.operator]} ({','.join(one.values)})"
