from collections.abc import Iterator

import pytest

from api_world import Api
from store.engine import Store


@pytest.fixture
def api(sqlite_store: Store) -> Iterator[Api]:
    """The application over SQLite."""
    yield from _open(sqlite_store)


@pytest.fixture
def api_on_both(store: Store) -> Iterator[Api]:
    """The application over each of the two stores."""
    yield from _open(store)


def _open(store: Store) -> Iterator[Api]:
    api = Api(store)
    with api.client:
        yield api
    api.clusters.close()
