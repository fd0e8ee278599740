"""What ganger's own routes take in a query: a parameter that a route does not have is refused.

Kubernetes passes over what it does not know, and so do its paths here. An answer about the present to a
question that was meant about the past would be a wrong one.
"""

from fastapi import Request, params
from fastapi.dependencies.utils import get_flat_params
from fastapi.routing import APIRoute

from domain.errors import BadRequest


async def known_alone(request: Request) -> None:
    """Raise BadRequest for a query parameter that the route does not have."""
    if not request.query_params:
        return
    names = _names(request.scope["route"])
    for name in request.query_params:
        if name not in names:
            takes = f"the parameters {', '.join(names)}" if names else "no parameters"
            raise BadRequest(f"{name}: there is no such parameter: this takes {takes}")


def _names(route: APIRoute) -> tuple[str, ...]:
    """The query parameters of `route`."""
    others = (params.Path, params.Header, params.Cookie)
    found = get_flat_params(route.dependant)
    return tuple(field.alias for field in found if not isinstance(field.field_info, others))
