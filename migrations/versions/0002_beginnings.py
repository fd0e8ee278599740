"""Where streams begin that hold a window of a log."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "beginnings",
        sa.Column("stream_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("at_us", sa.BigInteger(), nullable=False),
        sa.Column("chain_hash", sa.LargeBinary(), nullable=False),
        sa.Column("start_hash", sa.LargeBinary(), nullable=False),
        sa.Column("line", sa.LargeBinary(), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("beginnings")
