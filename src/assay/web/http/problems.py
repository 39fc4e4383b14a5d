"""The refusals that a route may answer with, for its description."""

from collections.abc import Mapping

from litestar.openapi.datastructures import ResponseSpec

from assay.web.http.json import ProblemView
from assay.web.http.problem import PROBLEM
from assay.web.versions.json import ChoicesView, GoneProblemView

MEANING = {
    300: "Several skills have this name; `choices` are their full names.",
    400: "The request is wrong; `detail` names the parameter or field.",
    401: "Sign in, or send the internal key or a token.",
    403: "You may not do this.",
    404: "There is no such thing.",
    409: "It conflicts with what is there; `detail` says with what.",
    410: "It was here and is not any more; `reason` says why.",
    413: "The body is too large.",
    415: "The body is not of the type that this route reads.",
    422: "The repository has no skill that could be submitted.",
    429: "Too many attempts; ask again after `Retry-After` seconds.",
    503: "The database or the blob store does not answer; ask again after `Retry-After` seconds.",
}


# Those that say more than others.
BODIES: Mapping[int, type[ProblemView]] = {300: ChoicesView, 410: GoneProblemView}


def problems(*statuses: int) -> Mapping[int, ResponseSpec]:
    """Problem bodies (RFC 9457) for these statuses."""
    return {status: answer(BODIES.get(status, ProblemView), MEANING[status], PROBLEM) for status in statuses}


def answer(view: type, description: str, media_type: str = "application/json") -> ResponseSpec:
    """An answer besides the usual one."""
    return ResponseSpec(view, generate_examples=False, description=description, media_type=media_type)
