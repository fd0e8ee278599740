"""Where streams come from that are forks of others."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0003"
down_revision: str | None = "0002"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    name = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.create_table(
        "origins",
        sa.Column("stream_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("parent", name, nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("origins")
