"""Where commands read objects from: the store, or a server."""

from collections.abc import Iterator
from contextlib import contextmanager

from cli.objects import Objects
from cli.settings import Settings


@contextmanager
def open_objects(settings: Settings, *, server: str | None, at: str | None = None) -> Iterator[Objects]:
    """The objects of the cluster that the options name, now or as of `at`.

    Raises StoreMissing if there is no store, a usage error for an `at` that is no moment.
    """
    if server is not None:
        from cli.remote import RemoteObjects

        yield RemoteObjects(server, settings.cluster, at)
        return
    from cli.local import LocalObjects
    from cli.moments import moment_of
    from cli.opening import open_for_reading

    with open_for_reading(settings) as cluster:
        yield LocalObjects(cluster, moment_of(cluster, at))
