"""What a request asks for, read once more: its own handler has checked it, and then found no database."""

from typing import Any, TypeVar

from litestar import Request

from assay.app.app import App
from assay.model.account import ANONYMOUS, Caller
from assay.model.errors import Invalid, Unavailable
from assay.store.database.database import AWAY
from assay.web.http.bearer import shown_token
from assay.web.http.caller import caller_of, registry_of

Kind = TypeVar("Kind")


class Asked:
    """A request, its registry, and which of its parameters were heeded."""

    def __init__(self, request: Request[Any, Any, Any]) -> None:
        self.request = request
        self.assay: App = registry_of(request)
        self._heeded: set[str] = set()

    @property
    def caller(self) -> Caller:
        """Who is asking; whose a token is cannot be known now."""
        caller = caller_of(self.request)
        if caller == ANONYMOUS and shown_token(self.request) is not None:
            raise Unavailable("The database does not answer, so nobody knows whose this token is.", code=AWAY)
        return caller

    def text(self, name: str) -> str | None:
        """A parameter; one that is empty is none, as in a form."""
        self._heeded.add(name)
        given: str = self.request.query_params.get(name, "").strip()
        return given or None

    def number(self, name: str, usual: int) -> int:
        """A parameter that is a number."""
        given = self.text(name)
        try:
            return usual if given is None else int(given)
        except ValueError:
            raise Invalid(f"{name}: give a number.", code="bad_parameter") from None

    def flag(self, name: str) -> bool:
        """A parameter that is set or not."""
        return (self.text(name) or "").lower() in ("1", "true", "yes", "on")

    def choice(self, name: str, kind: type[Kind]) -> Kind | None:
        """A parameter that is one of some words."""
        given = self.text(name)
        try:
            return None if given is None else kind(given)  # type: ignore[call-arg]
        except ValueError:
            raise Invalid(f"{name}: there is no {given!r}.", code="bad_parameter") from None

    def path(self, name: str) -> str:
        """A part of the path."""
        return str(self.request.path_params[name])

    @property
    def ignored(self) -> tuple[str, ...]:
        """What was given and not heeded."""
        return tuple(sorted(set(self.request.query_params) - self._heeded))
