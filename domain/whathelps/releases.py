"""What lets an entity out of the gate: gates taken off, members and groups created that are missing."""

from collections.abc import Iterator, Sequence
from itertools import count, islice

from domain.explaining.wording import named, number_of, pods_named, so_many
from domain.objects import POD_GROUP, Group
from domain.queue import Lane
from domain.state import State
from domain.whathelps.changes import Alter, Candidate, Manifest, Proved, Put, subject_of, together
from domain.whathelps.proving import Prover
from domain.whathelps.scene import Scene

_MOST = 256
"""More Pods than that are not created."""


def releases(scene: Scene) -> list[Candidate]:
    """What keeps the entity from being tried, taken away: each part by itself, then all together."""
    parts = [
        part
        for part in (_ungate(scene), _create_above(scene), _take_over(scene), _create_missing(scene))
        if part is not None
    ]
    whole = parts[:1]
    for part in parts[1:]:
        whole = [together(whole[0], part)]
    return [*parts, *whole] if len(parts) > 1 else parts


def _ungate(scene: Scene) -> Candidate | None:
    gated = [pod for pod in scene.waiting if pod.spec.gates]
    if not gated:
        return None
    gates = list(dict.fromkeys(gate for pod in gated for gate in pod.spec.gates))
    which = number_of(len(gates), "gate", "gates")
    return Candidate(
        kind="removeGates",
        text=f"remove the scheduling {which} {named(gates)} of {pods_named(gated)}",
        edits=tuple(Alter("Pod", pod.key, _open) for pod in gated),
        subjects=tuple(pod.subject for pod in gated),
        before=", ".join(gates),
    )


def _open(pod: Manifest) -> None:
    pod["spec"].pop("schedulingGates", None)


def _create_above(scene: Scene) -> Candidate | None:
    """The group that is named and does not exist."""
    entity = scene.entity
    lost = (
        entity.hold is not None
        and entity.hold.lane is Lane.INCOMPLETE
        and scene.state.group_of(entity.name) is None
    )
    if entity.is_pod or not lost:
        return None
    made = _group(scene)
    if made is None:
        return None
    return Candidate(
        kind="create",
        text=f"create {entity.kind} {entity.key}, which is missing; tried with the basic policy",
        edits=(Put(made),),
        subjects=(entity.name,),
    )


def _group(scene: Scene) -> Manifest | None:
    """A group for the name that is missing; None where what names it says too little."""
    namespace, _, name = scene.entity.key.partition("/")
    first = scene.waiting[0].spec
    spec: Manifest = {"schedulingPolicy": {"basic": {}}}
    version = "v1beta1"
    if scene.entity.kind != POD_GROUP:
        children = scene.state.forest.children(scene.entity.key)
        reference = scene.stored(children[0].kind, children[0].key)["spec"].get("workloadRef")
        if reference is None:
            return None
        spec["workloadRef"] = reference
        version = "v1alpha3"
    classes = {value.value: key for key, value in sorted(scene.state.priority_classes.items(), reverse=True)}
    if first.priority:
        if first.priority not in classes:
            return None
        spec["priorityClassName"] = classes[first.priority]
    return {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": scene.entity.kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def _take_over(scene: Scene) -> Candidate | None:
    """Members that wait for another scheduler, made anew for this one."""
    state = scene.state
    foreign = [state.pods[key] for leaf in scene.leaves for key in state.members_of(leaf).foreign]
    if not foreign or not scene.waiting:
        return None
    scheduler = scene.waiting[0].spec.scheduler

    def claim(pod: Manifest) -> None:
        pod["spec"]["schedulerName"] = scheduler

    return Candidate(
        kind="agree",
        text=f"create {pods_named(foreign)} anew with schedulerName {scheduler}",
        edits=(scene.pods_anew(foreign, claim),),
        subjects=tuple(pod.subject for pod in foreign),
    )


def fill_up(scene: Scene, prover: Prover) -> Iterator[Proved]:
    """As many new Pods as groups lack of those that can be tried; what is being deleted cannot."""
    made = [manifest for group in scene.groups for manifest in _short(scene, group)]
    if 0 < len(made) <= _MOST:
        proved = prover.prove(_create(made))
        if proved is not None:
            yield proved


def _short(scene: Scene, group: Group) -> Iterator[Manifest]:
    """New members of a PodGroup of which too few can be tried."""
    if group.kind != POD_GROUP:
        return
    members = scene.state.members_of(group.key)
    tried = sum(scene.state.pods[key].deletion is None for key in members.pending)
    yield from _members(scene, group, group.name, group.min_count - len(members.bound) - tried)


def _create_missing(scene: Scene) -> Candidate | None:
    """The Pods that groups lack for their minimum, like one that they have; with as many groups as are
    lacking, like the first of their siblings."""
    made = [manifest for group in scene.groups for manifest in _lacking(scene, group)]
    return _create(made) if 0 < len(made) <= _MOST else None


def _create(made: Sequence[Manifest]) -> Candidate:
    """The creation of Pods, and of groups for some of them."""
    pods = [manifest for manifest in made if manifest["kind"] == "Pod"]
    groups = [manifest for manifest in made if manifest["kind"] != "Pod"]
    what = [so_many(len(each), f"more {kind}") for each, kind in ((groups, POD_GROUP), (pods, "Pod")) if each]
    whose = list(dict.fromkeys(_whose(manifest) for manifest in pods))
    return Candidate(
        kind="create",
        text=f"create {' with '.join(what)} for {named(whose)}",
        edits=tuple(map(Put, made)),
        subjects=tuple(map(subject_of, made)),
        before="0",
        after=str(len(pods)),
    )


def _whose(pod: Manifest) -> str:
    return f"{POD_GROUP} {pod['metadata']['namespace']}/{pod['spec']['schedulingGroup']['podGroupName']}"


def _lacking(scene: Scene, group: Group) -> Iterator[Manifest]:
    state = scene.state
    if group.kind == POD_GROUP:
        yield from _members(scene, group, group.name, group.min_count - state.members_of(group.key).created)
        return
    children = state.forest.children(group.key)
    leaves = [child for child in children if child.kind == POD_GROUP]
    lacking = group.min_count - len(children)
    if not leaves or lacking <= 0:
        return
    model = leaves[0]
    for name in _names(state, model, lacking):
        yield scene.copy_of(POD_GROUP, model.key, name)
        yield from _members(scene, model, name, model.min_count)


def _members(scene: Scene, model: Group, group: str, number: int) -> Iterator[Manifest]:
    """`number` Pods for a PodGroup of the name `group`, like the first one of `model`."""
    members = scene.state.members_of(model.key)
    like = next(iter((*members.pending, *members.bound)), None)
    if like is None:
        return
    free = (f"{group}-{n}" for n in count() if f"{model.namespace}/{group}-{n}" not in scene.state.pods)
    for name in islice(free, max(number, 0)):
        made = scene.copy_of("Pod", like, name)
        made["spec"]["schedulingGroup"] = {"podGroupName": group}
        made["spec"].pop("schedulingGates", None)
        yield made


def _names(state: State, model: Group, number: int) -> list[str]:
    """Names for `number` new PodGroups, after that of `model`."""
    names = (f"{model.name}-{n}" for n in count(1))
    free = (name for name in names if f"{model.namespace}/{name}" not in state.groups)
    return list(islice(free, number))
