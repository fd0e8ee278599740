"""Whether the server lives and is ready, also for probes that ask by HEAD, and its metrics."""

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from api.clusters import AllClusters, Served
from domain.errors import GangerError

router = APIRouter(tags=["health"])


@router.head("/livez", include_in_schema=False)
@router.get("/livez", summary="Whether the process lives", response_class=PlainTextResponse)
async def livez() -> Response:
    """`ok` whenever it can be said at all."""
    return PlainTextResponse("ok")


@router.head("/readyz", include_in_schema=False)
@router.head("/healthz", include_in_schema=False)
@router.get("/readyz", summary="Whether requests can be served", response_class=PlainTextResponse)
@router.get("/healthz", summary="The same", response_class=PlainTextResponse)
def readyz(clusters: AllClusters) -> Response:
    """`ok`, or 503 and what is wrong: the store cannot be read, or a worker has stopped."""
    failed = [line for served in clusters.all() if (line := _failure(served))]
    if failed:
        return PlainTextResponse("\n".join(failed), status_code=503)
    return PlainTextResponse("ok")


@router.get("/metrics", summary="Metrics for Prometheus", response_class=PlainTextResponse)
def metrics(clusters: AllClusters) -> Response:
    """What is attempted and what waits, by cluster."""
    return Response(clusters.metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})


def _failure(served: Served) -> str | None:
    name = served.cluster.log.stream
    if served.worker is not None and served.worker.failure is not None:
        return f"[-]worker of {name} has stopped: {served.worker.failure}"
    try:
        served.cluster.log.head()
    except GangerError as error:
        return f"[-]log of {name} cannot be read: {error}"
    return None
