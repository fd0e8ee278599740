"""Random small clusters with little room and everything in them that decisions look at.

Two to six nodes with zones, racks, GPUs, taints and images; running Pods and groups of low priority;
gangs, basic groups and trees, with topology constraints, rules about other Pods, budgets; then changes of
all that.
"""

from itertools import count
from random import Random

from books import Book
from build import Manifest, composite, group, node, pod
from domain.errors import Refused
from domain.times import rfc3339
from ganger_testing.actions import TOLERATION
from ganger_testing.manifests import priority_class
from ganger_testing.strategies import DEDICATED, DISLIKED, ZONE

CLASSES = {"low": 10, "mid": 20, "high": 30}
RANKS = ("low", "mid", "high")
RACK, HOST = "rack", "kubernetes.io/hostname"
KEYS = (ZONE, RACK, RACK, HOST)
APPS = ("x", "y", "z")
HOST_PORT = [{"containerPort": 80, "hostPort": 80}]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class SmallCluster:
    """What comes into a cluster and happens to it, drawn from `random`."""

    def __init__(self, random: Random, book: Book) -> None:
        self.random = random
        self.book = book
        self.numbers = count()
        self.rules = random.choice([0, 0, 0, 0.3])
        """How likely it is that a Pod has rules about others."""
        self.names = [f"n{number}" for number in range(random.randint(2, 6))]
        self.apply([priority_class(name, value) for name, value in CLASSES.items()])
        self.apply([priority_class("never", CLASSES["high"], "Never")])
        self.apply([self._node(name) for name in self.names])

    def apply(self, manifests: list[Manifest]) -> bool:
        """Ask for `manifests`; whether that was granted."""
        try:
            self.book.apply(manifests)
        except Refused:
            return False
        return True

    def delete(self, kind: str, key: str) -> None:
        try:
            self.book.delete(kind, key)
        except Refused:
            return

    # What comes

    def fill(self) -> None:
        """Let some Pods run, alone or in groups, that may have to make room."""
        for _ in range(self.random.randint(0, 3)):
            self.apply([self._pod(self.random.choice(("low", "mid")), runs=True)])
        for _ in range(self.random.randint(0, 2)):
            self.apply(self._gang(self.random.choice(("low", "low", "mid")), runs=True))
        if self.random.random() < 0.3:
            self.apply(self._tree("low", runs=True))
        for _ in range(self.random.choice((0, 0, 1, 2))):
            self.apply([self._budget()])

    def come(self) -> None:
        """Somebody who wants to run."""
        random, rank = self.random, self.random.choice(("low", "mid", "high", "high", "never"))
        match random.randrange(6):
            case 0:
                made = [self._pod(rank)]
            case 1 | 2:
                made = self._gang(rank)
            case _:
                made = self._tree(rank)
        if random.random() < 0.1:
            random.shuffle(made)
        if random.random() < 0.1:
            del made[random.randrange(len(made))]
        self.apply(made)

    def happen(self) -> None:
        """Something else."""
        random, state = self.random, self.book.state
        match random.randrange(12):
            case 0 | 1 | 2:
                self.come()
            case 3 | 4 if state.pods:
                self.delete("Pod", random.choice(sorted(state.pods)))
            case 5 | 6:
                self.apply([self._node(random.choice(self.names))])
            case 7 if len(state.node_records) > 1:
                self.delete("Node", random.choice(sorted(state.node_records)))
            case 8 if state.groups:
                self._change_minimum(random.choice(sorted(state.groups)))
            case 9 if state.composites:
                self._move(random.choice(sorted(state.composites)))
            case 10 if state.pods:
                self._end(random.choice(sorted(state.pods)))
            case _:
                self.book.wait(random.choice((1, 7, 400)))

    def _change_minimum(self, key: str) -> None:
        found = self.book.stored("PodGroup", key)
        if found is not None and "gang" in found["spec"]["schedulingPolicy"]:
            found["spec"]["schedulingPolicy"] = {"gang": {"minCount": self.random.randint(1, 3)}}
            self.apply([found])

    def _move(self, key: str) -> None:
        """Delete a composite, mostly to make it again, without or with another parent."""
        found = self.book.stored("CompositePodGroup", key)
        assert found is not None
        name, spec = found["metadata"]["name"], dict(found["spec"])
        self.delete("CompositePodGroup", key)
        parent = self.random.choice([None, *self.book.state.composites])
        spec.pop("parentCompositePodGroupName", None)
        if parent is not None:
            spec["parentCompositePodGroupName"] = parent.partition("/")[2]
        if self.random.random() < 0.8:
            made = composite(name)
            self.apply([{**made, "spec": spec}])

    def _end(self, key: str) -> None:
        found = self.book.stored("Pod", key)
        assert found is not None
        if found["spec"].get("nodeName"):
            status = {**found.get("status", {}), "phase": self.random.choice(("Succeeded", "Failed"))}
            self.apply([{**found, "status": status}])

    def _number(self) -> int:
        return next(self.numbers)

    def _node(self, name: str) -> Manifest:
        random = self.random
        labels = {}
        if random.random() < 0.9:
            labels[ZONE] = random.choice("ab")
        if random.random() < 0.9:
            labels[RACK] = random.choice(("r1", "r2", "r3"))
        made = node(
            name,
            cpu=random.choice(("1", "2", "3", "4")),
            memory=random.choice(("3Gi", "8Gi", "8Gi")),
            gpu=random.choice((None, None, 1, 2)),
            pods=random.choice((2, 4, 110, 110)),
            labels=labels,
            taints=random.choice(([], [], [], [], [DEDICATED], [DISLIKED])),
            unschedulable=random.random() < 0.06,
        )
        if random.random() < 0.2:
            size = random.choice((200, 900)) << 20
            made["status"]["images"] = [{"names": ["app:latest"], "sizeBytes": size}]
        return made

    def _budget(self) -> Manifest:
        random = self.random
        spec: Manifest = {"selector": {"matchLabels": {"app": random.choice(APPS)}}}
        spec[random.choice(("minAvailable", "maxUnavailable"))] = random.choice((1, 2, "50%"))
        status: Manifest = {}
        if random.random() < 0.3:
            status = {"disruptionsAllowed": random.randrange(3)}
        return {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": f"b{self._number()}", "namespace": "default"},
            "spec": spec,
            "status": status,
        }

    def _like(self) -> Manifest:
        """What all Pods of a group may have in common."""
        random = self.random
        like: Manifest = {
            "cpu": random.choice(("500m", "1", "1", "2")),
            "memory": random.choice((None, None, "1Gi", "2Gi")),
            "gpu": random.choice((None, None, None, 1)),
            "ports": HOST_PORT if random.random() < 0.08 else (),
        }
        if random.random() < 0.3:
            like["tolerations"] = [TOLERATION]
        if random.random() < 0.08:
            like["nodeSelector"] = {ZONE: random.choice("ab")}
        if random.random() < self.rules:
            like |= self._rule()
        return like

    def _rule(self) -> Manifest:
        random = self.random
        selector, key = {"matchLabels": {"app": random.choice(APPS)}}, random.choice((HOST, ZONE, RACK))
        if random.random() < 0.4:
            rule: Manifest = {"labelSelector": selector, "topologyKey": key, "maxSkew": random.choice((1, 2))}
            rule["whenUnsatisfiable"] = random.choice(("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"))
            return {"topologySpreadConstraints": [rule]}
        term = {"labelSelector": selector, "topologyKey": key}
        kind = random.choice(("podAffinity", "podAntiAffinity", "podAntiAffinity"))
        if random.random() < 0.3:
            return {"affinity": {kind: {PREFERRED: [{"weight": 50, "podAffinityTerm": term}]}}}
        return {"affinity": {kind: {REQUIRED: [term]}}}

    def _pod(
        self, rank: str, *, name: str = "", runs: bool = False, like: Manifest | None = None, **more: str
    ) -> Manifest:
        random = self.random
        like = self._like() if like is None else like
        where = random.choice(self.names) if runs and random.random() < 0.9 else None
        made = pod(
            name or f"s{self._number()}",
            node=where,
            priorityClassName=rank,
            terminationGracePeriodSeconds=random.choice((0, 5, 30)),
            **like,
            **more,
        )
        made["metadata"]["labels"] = {"app": random.choice(APPS)}
        if where is not None and random.random() < 0.8:
            started = rfc3339(self.book.now - random.randrange(5) * 1_000_000)
            made["status"] = {"phase": "Running", "startTime": started}
        if where is None and random.random() < 0.02:
            made["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
        return made

    def _spec(self, rank: str) -> Manifest:
        random = self.random
        spec: Manifest = {"priorityClassName": rank}
        spec["disruptionMode"] = random.choice(({"single": {}}, {"single": {}}, {"all": {}}))
        if random.random() < 0.3:
            spec["schedulingConstraints"] = {"topology": [{"key": random.choice(KEYS)}]}
        return spec

    def _gang(self, rank: str, *, runs: bool = False, parent: str | None = None) -> list[Manifest]:
        random = self.random
        name, size = f"g{self._number()}", random.randint(0 if parent else 1, 4)
        spec = self._spec(rank)
        if parent is not None:
            spec["parentCompositePodGroupName"] = parent
            spec["workloadRef"] = {"workloadName": "job", "templateName": "leaf"}
        like = self._like() if random.random() < 0.6 else None
        late = random.random() < 0.1
        pods = [
            self._pod(
                rank if random.random() < 0.99 else "mid",
                name=f"{name}-{number}",
                runs=(runs and random.random() < 0.9) or (late and random.random() < 0.5),
                like=like,
                group=name,
            )
            for number in range(size)
        ]
        return [group(name, random.choice((None, *range(1, size + 1), size or 1)), **spec), *pods]

    def _tree(
        self, rank: str, *, runs: bool = False, parent: str | None = None, level: int = 1
    ) -> list[Manifest]:
        random = self.random
        name, children = f"c{self._number()}", random.randint(1, 3 if level == 1 else 2)
        if random.random() < 0.02:
            rank = random.choice(RANKS)
        spec = self._spec(rank)
        if parent is not None:
            spec["parentCompositePodGroupName"] = parent
        made = [composite(name, random.choice((None, *range(1, children + 1))), **spec)]
        for _ in range(children):
            if level < 4 and random.random() < 0.25:
                made += self._tree(rank, runs=runs, parent=name, level=level + 1)
            else:
                made += self._gang(rank, runs=runs, parent=name)
        return made


def play(random: Random, book: Book) -> None:
    """A random cluster, from its first nodes to the end of some changes."""
    cluster = SmallCluster(random, book)
    cluster.fill()
    for _ in range(random.randint(1, 3)):
        cluster.come()
    book.settle()
    for _ in range(random.randint(0, 5)):
        cluster.happen()
        if random.random() < 0.6:
            book.settle()
    book.settle()
