"""Moments that options name, such as `--at -2h`."""

import click

from worker import moments
from worker.cluster import Cluster
from worker.moments import Moment


def moment_of(cluster: Cluster, text: str | None, option: str = "--at") -> Moment | None:
    """The moment that `text` names; None if it is not given.

    Raises Expired for a position in the future and a usage error for what names no moment.
    """
    if text is None:
        return None
    try:
        return moments.moment_of(cluster, text)
    except ValueError as error:
        context = click.get_current_context()
        raise click.BadParameter(f"{text!r} {error}", context, param_hint=option) from error
