"""What can go wrong, as the caller must understand it.

AssayError
├── Invalid        the request is wrong; the message says what and where
├── NotFound       there is no such thing
├── Conflict       the thing has changed meanwhile, or the name is taken
├── Forbidden      the caller may not do this
└── Unavailable    the world's fault; try again after `retry_after_seconds`
    └── RateLimited    a budget of the outside world is spent until then

Each carries a `code`, a stable slug that clients may branch on. Anything else that is raised is a bug.
"""


class AssayError(Exception):
    """Something went wrong that a caller can understand."""

    code = "error"

    def __init__(self, message: str, *, code: str | None = None, **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.details = details


class Invalid(AssayError):
    """The request is wrong."""

    code = "invalid"


class NotFound(AssayError):
    """There is no such thing."""

    code = "not_found"


class Conflict(AssayError):
    """The thing has changed meanwhile."""

    code = "conflict"


class Forbidden(AssayError):
    """The caller may not do this."""

    code = "forbidden"


class Unavailable(AssayError):
    """The outside world does not answer."""

    code = "unavailable"

    def __init__(
        self, message: str, *, retry_after_seconds: float = 30, code: str | None = None, **details: object
    ) -> None:
        super().__init__(message, code=code, **details)
        self.retry_after_seconds = retry_after_seconds


class RateLimited(Unavailable):
    """A budget of the outside world is spent."""

    code = "rate_limited"
