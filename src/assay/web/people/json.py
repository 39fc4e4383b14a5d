"""The JSON of signing in."""

import msgspec

from assay.accounts.sessions import Granted
from assay.model.account import Role
from assay.web.http.json import View


class SignInBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An account that is kept here."""

    login: str = ""
    password: str = ""

    def __repr__(self) -> str:
        return f"SignInBody(login={self.login!r})"


class MeView(View, frozen=True):
    """Who is signed in; nobody if `signedIn` is false."""

    signed_in: bool
    login: str | None
    role: Role | None


NOBODY = MeView(signed_in=False, login=None, role=None)


def present_me(granted: Granted) -> MeView:
    """Who has just signed in."""
    return MeView(signed_in=True, login=granted.account.login, role=granted.account.role)
