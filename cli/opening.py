"""Opening the store and the cluster that the global options name."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from cli.console import note
from cli.errors import CannotDo
from cli.settings import Settings
from store.engine import Store, open_store
from store.errors import StoreMissing
from store.log import EventLog, stream_names
from worker.clocks import Clock, SystemClock
from worker.cluster import CLUSTER_NAME, CLUSTER_NAME_RULE, Cluster


@contextmanager
def open_for_reading(settings: Settings) -> Iterator[Cluster]:
    """A cluster that has events already. Raises StoreMissing, and CannotDo if it has none."""
    with opened(settings, create=False) as store:
        cluster = Cluster.open(store, settings.cluster, clock=SystemClock())
        if cluster.state.position == 0:
            raise _no_such_cluster(store, settings.cluster)
        yield cluster
        _tell_notes(cluster)


@contextmanager
def open_log(settings: Settings) -> Iterator[EventLog]:
    """The log of a cluster that has events already, not folded. Raises as `open_for_reading`."""
    with opened(settings, create=False) as store:
        log = EventLog(store, settings.cluster)
        if log.head().position == 0:
            raise _no_such_cluster(store, settings.cluster)
        yield log


@contextmanager
def open_for_writing(
    settings: Settings, *, clock: Clock | None = None, verify: bool = False, durable: bool = True
) -> Iterator[Cluster]:
    """A cluster, new if need be. With `verify` its chain is checked first (CorruptLog).

    What is not `durable` may lose its end, and only that, when the machine fails.
    """
    with opened(settings, create=True, durable=durable) as store:
        cluster = Cluster.open(store, settings.cluster, clock=clock or SystemClock(), verify=verify)
        _check_name(cluster, settings)
        yield cluster
        _tell_notes(cluster)


@contextmanager
def open_for_trying(settings: Settings) -> Iterator[Cluster]:
    """A cluster to which nothing will be appended; an empty one if there is no store."""
    try:
        store = open_store(settings.store, create=False)
    except StoreMissing:
        with TemporaryDirectory() as folder:
            empty = Settings(str(Path(folder) / "empty.db"), settings.cluster)
            with open_for_writing(empty) as cluster:
                yield cluster
        return
    try:
        cluster = Cluster.open(store, settings.cluster, clock=SystemClock())
        _check_name(cluster, settings)
        yield cluster
    finally:
        store.close()


@contextmanager
def opened(settings: Settings, *, create: bool, durable: bool = True) -> Iterator[Store]:
    """The store, made if it is missing and `create` says so. Raises StoreError."""
    store = open_store(settings.store, create=create, durable=durable)
    try:
        yield store
    finally:
        store.close()


def check_cluster_name(name: str) -> None:
    """Raise CannotDo for a name that cannot stand in the path of a URL."""
    if not CLUSTER_NAME.fullmatch(name):
        raise CannotDo(f"--cluster: {name!r} {CLUSTER_NAME_RULE}")


def _check_name(cluster: Cluster, settings: Settings) -> None:
    """Check the name of a cluster that is yet to be made; one that is there is used under any name."""
    if cluster.state.position == 0:
        check_cluster_name(settings.cluster)


def _no_such_cluster(store: Store, name: str) -> CannotDo:
    known = ", ".join(stream_names(store)) or "none yet"
    return CannotDo(f"there is no cluster {name!r} in {store.where}: clusters in it are {known}")


def _tell_notes(cluster: Cluster) -> None:
    for each in cluster.notes:
        note(each)
