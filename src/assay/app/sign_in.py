"""What lets people in."""

from assay.accounts.signed_claims import Seal
from assay.app.app import App
from assay.github.oauth import GitHubSignIn
from assay.model.errors import Unavailable
from assay.settings import Settings


def open_seal(settings: Settings) -> Seal:
    """What signs the sessions of people."""
    if settings.jwt_secret is None:
        raise Unavailable("ASSAY_JWT_SECRET is not set, so nobody can sign in.", code="secret_missing")
    return Seal(settings.jwt_secret.get_secret_value())


def open_github_sign_in(app: App) -> GitHubSignIn | None:
    """Sign-in with GitHub, if it is set up."""
    settings = app.settings
    if settings.oauth_client_id is None or settings.oauth_client_secret is None:
        return None
    return GitHubSignIn(
        session=app.github.session,
        web_url=settings.github_web_url,
        api_url=settings.github_api_url,
        client_id=settings.oauth_client_id,
        client_secret=settings.oauth_client_secret.get_secret_value(),
    )
