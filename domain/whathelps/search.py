"""The search for what would help, cheapest changes first; nothing is said that was not tried."""

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple

from domain.objects import Pod
from domain.queue import Entity
from domain.state import State
from domain.whathelps.budget import CutOff
from domain.whathelps.changes import Candidate, Proved, together
from domain.whathelps.cordons import tolerate, uncordon
from domain.whathelps.division import divide_lean
from domain.whathelps.labels import label_nodes
from domain.whathelps.looser import loosen
from domain.whathelps.minimums import lower_minimum
from domain.whathelps.more_nodes import add_nodes
from domain.whathelps.proving import Fork, Prover
from domain.whathelps.ranks import raise_priority
from domain.whathelps.releases import releases
from domain.whathelps.removals import remove_others
from domain.whathelps.requests import lower_requests
from domain.whathelps.scene import Scene

MOST = 6
"""So many changes are enough."""

Finder = Callable[[Scene, Prover], Iterator[Proved]]

_WHEN_REFUSED: tuple[Finder, ...] = (
    uncordon,
    tolerate,
    label_nodes,
    add_nodes,
    lower_minimum,
    divide_lean,
    remove_others,
    lower_requests,
    loosen,
    raise_priority,
)
"""By what they cost whoever makes the change: from a word to a node to a new start."""

_AFTER_RELEASE: tuple[Finder, ...] = (uncordon, add_nodes, remove_others)
"""What is tried with a release that does not do by itself; none of it touches what waits."""

_MOST_PAIRS = 3
"""So many pairs of changes are enough where no single one helps."""


class Help(NamedTuple):
    """What would help, cheapest first; with `cut_off` the search ended before all was tried."""

    changes: tuple[Proved, ...] = ()
    cut_off: bool = False


def what_helps(
    state: State, kind: str, key: str, *, stored: Callable[[str, str], Mapping[str, Any]], fork: Fork
) -> Help:
    """What would start the object of `kind` and `key`, which waits in `state`.

    Nothing for one that does not wait, or that will start anyway. `stored` gives manifests as
    admission sees them; `fork` tries edits.
    """
    entity = _entity_of(state, kind, key)
    if entity is None:
        return Help()
    scene = Scene(state, entity, lambda of, name: dict(stored(of, name)))
    found: list[Proved] = []
    try:
        for proved in _search(scene, fork):
            found.append(proved)
            if len(found) == MOST:
                break
    except CutOff:
        return Help(tuple(found), cut_off=True)
    return Help(tuple(found))


def _entity_of(state: State, kind: str, key: str) -> Entity | None:
    if kind != "Pod":
        return state.entity_with(kind, key)
    pod: Pod | None = state.pods.get(key)
    return None if pod is None or pod.deletion is not None else state.entity_of(pod)


def _search(scene: Scene, fork: Fork) -> Iterator[Proved]:
    if not scene.waiting or fork(()) is not None:
        return
    if scene.entity.hold is None:
        yield from _changes(scene, fork)
    else:
        yield from _releases(scene, fork)


def _changes(scene: Scene, fork: Fork) -> Iterator[Proved]:
    """What starts an entity that is refused: one change, or two where none does by itself."""
    in_vain: list[tuple[Finder, Candidate]] = []
    found = False
    for find in _WHEN_REFUSED:
        prover = Prover(fork)
        for proved in find(scene, prover):
            found = True
            yield proved
        in_vain += [(find, candidate) for candidate in prover.in_vain]
    if not found:
        yield from _pairs(scene, fork, in_vain)


def _pairs(scene: Scene, fork: Fork, in_vain: list[tuple[Finder, Candidate]]) -> Iterator[Proved]:
    """Of two kinds of change that help only together the least, the later one made as small as it can be
    beside the most of the earlier, then the earlier beside that."""
    told: set[tuple[Finder, Finder]] = set()
    for (first, one), (second, other) in combinations(in_vain, 2):
        if (first, second) in told or Prover(fork, before=one.edits).prove(other) is None:
            continue
        for later in second(scene, Prover(fork, before=one.edits)):
            for earlier in first(scene, Prover(fork, after=later.candidate.edits)):
                yield Proved(together(earlier.candidate, later.candidate), earlier.evicted)
        told.add((first, second))
        if len(told) == _MOST_PAIRS:
            return


def _releases(scene: Scene, fork: Fork) -> Iterator[Proved]:
    """What lets an entity out of the gate and then starts it."""
    prover = Prover(fork)
    candidates = releases(scene)
    released = [proved for each in candidates if (proved := prover.prove(each)) is not None]
    yield from released[:1]
    yield from lower_minimum(scene, prover)
    if candidates and not released:
        release = candidates[-1]
        for find in _AFTER_RELEASE:
            for proved in find(scene, Prover(fork, before=release.edits)):
                yield Proved(together(release, proved.candidate), proved.evicted)
