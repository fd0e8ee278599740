"""What makes every attempt of a tree an error: Pods and groups that differ from the rest, made to agree."""

from collections.abc import Iterable, Iterator

from domain.explaining.disagreements import odd_groups, odd_pods, places_of
from domain.explaining.wording import named, number_of, pods_named
from domain.objects import POD_GROUP, Group, Pod
from domain.queue import Verdict
from domain.whathelps.changes import Candidate, Manifest, Proved, Remove, Renew, Rewrite, subject_of
from domain.whathelps.labels import with_labels
from domain.whathelps.proving import Prover
from domain.whathelps.scene import Scene


def agree(scene: Scene, prover: Prover) -> Iterator[Proved]:
    """Those who differ made anew like the rest, or what runs apart from it taken back or away."""
    if scene.entity.verdict is not Verdict.ERROR or not scene.groups or not scene.waiting:
        return
    for candidate in (*_like_the_root(scene), *_together(scene)):
        proved = prover.prove(candidate)
        if proved is not None:
            yield proved


def _like_the_root(scene: Scene) -> Iterator[Candidate]:
    root = scene.groups[0]
    groups = odd_groups(scene.state, root)
    if groups:
        yield from _groups_anew(scene, root, groups)
        return
    pods = odd_pods(scene.state, root, scene.waiting)
    if pods:
        yield _pods_anew(scene, root, pods)


def _pods_anew(scene: Scene, root: Group, pods: list[Pod]) -> Candidate:
    """Those that wait made anew, those on nodes deleted."""
    waiting = [pod for pod in pods if pod.node is None]
    running = [pod for pod in pods if pod.node is not None]
    scheduler = scene.waiting[0].spec.scheduler
    told = []
    if waiting:
        told.append(f"create {pods_named(waiting)} anew with {_words(scene, root, waiting, scheduler)}")
    if running:
        told.append(f"delete {pods_named(running)}, which {number_of(len(running), 'runs', 'run')}")

    def alike(pod: Manifest) -> None:
        _take_class(pod, _class_of(scene, root))
        pod["spec"]["schedulerName"] = scheduler

    anew = (scene.pods_anew(waiting, alike),) if waiting else ()
    return Candidate(
        kind="agree",
        text=", and ".join(told),
        edits=(*anew, *(Remove("Pod", pod.key) for pod in running)),
        subjects=tuple(pod.subject for pod in pods),
    )


def _words(scene: Scene, root: Group, pods: Iterable[Pod], scheduler: str) -> str:
    """What they get that they have not."""
    specs = [pod.spec for pod in pods]
    rank = (root.priority, root.preemption_policy)
    told = (
        [_class_words(scene, root)] if any((s.priority, s.preemption_policy) != rank for s in specs) else []
    )
    told += [f"schedulerName {scheduler}"] if any(spec.scheduler != scheduler for spec in specs) else []
    return " and ".join(told)


def _class_words(scene: Scene, root: Group) -> str:
    name = _class_of(scene, root)
    return "no priorityClassName" if name is None else f"priorityClassName {name}"


def _class_of(scene: Scene, root: Group) -> str | None:
    name = scene.stored(root.kind, root.key)["spec"].get("priorityClassName")
    return None if name is None else str(name)


def _take_class(manifest: Manifest, name: str | None) -> None:
    spec = manifest["spec"]
    for field in ("priorityClassName", "priority", "preemptionPolicy"):
        spec.pop(field, None)
    if name is not None:
        spec["priorityClassName"] = name


def _groups_anew(scene: Scene, root: Group, odd: list[Group]) -> Iterator[Candidate]:
    """Groups with the class of the root: PodGroups with their Pods, of a composite the whole tree."""
    subjects = {group.subject for group in odd}

    def alike(manifest: Manifest) -> None:
        if manifest["kind"] == "Pod" or subject_of(manifest) in subjects:
            _take_class(manifest, _class_of(scene, root))

    leaves = all(group.kind == POD_GROUP for group in odd)
    anew = _leaves_anew(scene, odd, alike) if leaves else scene.all_anew(alike)
    if anew is None:
        return
    names = named(f"{group.kind} {group.key}" for group in odd)
    what = "with the whole tree" if not leaves else "with its Pods" if len(odd) == 1 else "with their Pods"
    yield Candidate(
        kind="agree",
        text=f"create {names} anew with {_class_words(scene, root)}, {what}",
        edits=(anew,),
        subjects=tuple(group.subject for group in odd),
    )


def _leaves_anew(scene: Scene, leaves: list[Group], rewrite: Rewrite) -> Renew | None:
    """The edit that makes PodGroups anew with their Pods; None if something of them runs."""
    members = [scene.state.members_of(leaf.key) for leaf in leaves]
    if any(each.bound or each.foreign for each in members):
        return None
    pods = tuple(key for each in members for key in each.pending)
    return Renew(pods, tuple((leaf.kind, leaf.key) for leaf in leaves), rewrite)


def _together(scene: Scene) -> Iterator[Candidate]:
    """Members that run in several domains brought into the one that has most of them: their nodes
    labelled so, or they deleted."""
    for group in scene.groups:
        if group.topology_key is None:
            continue
        places = places_of(scene.state, group)
        if len(places) < 2:
            continue
        (home, _), *others = places.items()
        apart = [pod for _, pods in others for pod in pods]
        nodes = sorted({str(pod.node) for pod in apart if pod.node in scene.state.node_records})
        if home is not None and nodes:
            yield with_labels({group.topology_key: home}, nodes)
        run = number_of(len(apart), "runs", "run")
        yield Candidate(
            kind="delete",
            text=f"delete {pods_named(apart)}, which {run} apart from the rest",
            edits=tuple(Remove("Pod", pod.key) for pod in apart),
            subjects=tuple(pod.subject for pod in apart),
        )
