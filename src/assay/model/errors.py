"""What can go wrong, as the caller must understand it.

AssayError
├── Invalid        the request is wrong; the message says what and where
│   └── NoSkill        what was named holds no skill
├── NotFound       there is no such thing
├── Gone           there was such a thing; the message says why it is no more
├── Ambiguous      several things have this name; `choices` are their full names
├── Conflict       the thing has changed meanwhile, or the name is taken
├── Unauthenticated    the caller has not said who it is, or not proved it
├── Forbidden      the caller may not do this
├── Throttled      the caller has tried too often; again after `retry_after_seconds`
└── Unavailable    the world's fault; try again after `retry_after_seconds`
    ├── RateLimited    a budget of the outside world is spent until then
    ├── Refused        the outside world knows what we want and does not let us
    └── ScannerError   a scanner did not work, which says nothing about the skill; waiting for it is no attempt

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


class NoSkill(Invalid):
    """What was named holds no skill."""

    code = "no_skill"


class NotFound(AssayError):
    """There is no such thing."""

    code = "not_found"


class Gone(AssayError):
    """There was such a thing."""

    code = "gone"


class Ambiguous(AssayError):
    """Several things have this name."""

    code = "ambiguous"

    def __init__(self, message: str, *, choices: tuple[str, ...], code: str | None = None) -> None:
        super().__init__(message, code=code, choices=choices)
        self.choices = choices


class Conflict(AssayError):
    """The thing has changed meanwhile."""

    code = "conflict"


class Unauthenticated(AssayError):
    """The caller has not proved who it is."""

    code = "unauthenticated"


class Forbidden(AssayError):
    """The caller may not do this."""

    code = "forbidden"


class Throttled(AssayError):
    """The caller has tried too often."""

    code = "too_many_attempts"

    def __init__(self, message: str, *, retry_after_seconds: float, code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.retry_after_seconds = retry_after_seconds


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


class Refused(Unavailable):
    """The outside world does not let us; that says nothing about what is there."""

    code = "refused"


class ScannerError(Unavailable):
    """A scanner did not work."""

    code = "scanner_error"
