"""The tables of every version of the store, as Alembic makes them."""
