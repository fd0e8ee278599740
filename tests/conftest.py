"""Fixtures that more than one room's tests use."""

pytest_plugins = ("golden", "store_fixtures")
