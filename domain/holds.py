"""Gating: what keeps an entity out of the active lane (PreEnqueue).

The whole entity is held if one of its Pods is. Source: kube-scheduler 1.37, plugins
SchedulingGates and GangScheduling; KEP-4671, KEP-6012.
"""

from domain.forest import Chain
from domain.incomplete import flaw_of
from domain.objects import POD_GROUP, Group, Pod, Waiting
from domain.queue import Hold, Lane
from domain.scheduling.texts import skipped
from domain.state import State

_BELOW_MINIMUM = Hold(
    Lane.GATED, "GangScheduling", "waiting for minCount pods from a gang to appear in scheduling queue"
)


def hold_of_group(state: State, root: Group | None, waiting: Waiting, oldest: Pod) -> Hold | None:
    """Why Pods that wait as one are held, by the first rule that holds them; None if nothing does.

    They wait as `root`, if that exists. `oldest` is the oldest of them, who is in some group; for all
    of them the way to the root ends alike.
    """
    if waiting.gated:
        first = state.pods[next(iter(waiting.gated))]
        return _gates(first)
    if root is None or root.parent is not None:
        assert oldest.group is not None
        return _incomplete(state.root_of(oldest.group))
    if not state.forest.ready(root):
        return _BELOW_MINIMUM if root.kind == POD_GROUP else _without_quorum(root)
    if waiting.dying == len(waiting.pending):
        return _dying(oldest)
    return None


def _without_quorum(root: Group) -> Hold:
    text = f'waiting for composite pod group "{root.name}" tree to meet quorum'
    return Hold(Lane.GATED, "GangScheduling", text)


def _incomplete(chain: Chain) -> Hold:
    kind, _, key = (chain.missing or "").partition("/")
    if kind == POD_GROUP:
        text = f'waiting for pods\'s pod group "{key.partition("/")[2]}" to appear in scheduling queue'
    else:
        text = flaw_of(chain)
    return Hold(Lane.INCOMPLETE, "GangScheduling", text)


def hold_of_pod(pod: Pod) -> Hold | None:
    """Why a Pod that waits alone is held; None if nothing holds it."""
    if pod.spec.gates:
        return _gates(pod)
    if pod.deletion is not None:
        return _dying(pod)
    return None


def _gates(pod: Pod) -> Hold:
    names = " ".join(pod.spec.gates)
    return Hold(Lane.GATED, "SchedulingGates", f"waiting for scheduling gates: [{names}]")


def _dying(pod: Pod) -> Hold:
    return Hold(Lane.GATED, "ganger", skipped(pod.key))
