"""Errors that callers are expected to handle.

AssayError
├── Invalid            the request is wrong; the message says what and where
│   └── NoSkill        the repository or folder contains no skill
├── NotFound           the object does not exist
├── Gone               the object existed; the message says why it was removed
├── Ambiguous          the name matches several objects; `choices` lists their full names
├── Conflict           the object has changed in the meantime, or the name is taken
├── Unauthenticated    credentials are missing or wrong
├── Forbidden          the caller lacks permission
├── QuotaExceeded      the caller stores too much; the message says what to delete
├── Throttled          the caller exceeded a rate limit; retry after `retry_after_seconds`
└── Unavailable        a dependency failed; retry after `retry_after_seconds`
    ├── RateLimited    the rate limit of an external service is exhausted until then
    ├── Refused        an external service denied access
    └── ScannerError   a scanner failed, which says nothing about the skill and does not count as an attempt

Each error carries a `code`, a stable slug for clients. Any other exception is a bug.
"""

from assay.model.quota import Quota


class AssayError(Exception):
    """Base class of the errors in this module."""

    code = "error"

    def __init__(self, message: str, *, code: str | None = None, **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.details = details


class Invalid(AssayError):
    code = "invalid"


class NoSkill(Invalid):
    code = "no_skill"


class NotFound(AssayError):
    code = "not_found"


class Gone(AssayError):
    code = "gone"


class Ambiguous(AssayError):
    code = "ambiguous"

    def __init__(self, message: str, *, choices: tuple[str, ...], code: str | None = None) -> None:
        super().__init__(message, code=code, choices=choices)
        self.choices = choices


class Conflict(AssayError):
    code = "conflict"


class Unauthenticated(AssayError):
    code = "unauthenticated"


class Forbidden(AssayError):
    code = "forbidden"


class QuotaExceeded(AssayError):
    code = "quota_exceeded"


class Throttled(AssayError):
    code = "too_many_attempts"

    def __init__(
        self, message: str, *, retry_after_seconds: float, code: str | None = None, quota: Quota | None = None
    ) -> None:
        super().__init__(message, code=code)
        self.retry_after_seconds = retry_after_seconds
        self.quota = quota


class Unavailable(AssayError):
    code = "unavailable"

    def __init__(
        self, message: str, *, retry_after_seconds: float = 30, code: str | None = None, **details: object
    ) -> None:
        super().__init__(message, code=code, **details)
        self.retry_after_seconds = retry_after_seconds


class RateLimited(Unavailable):
    code = "rate_limited"


class Refused(Unavailable):
    """Access denied by an external service; says nothing about whether the object exists."""

    code = "refused"


class ScannerError(Unavailable):
    code = "scanner_error"
