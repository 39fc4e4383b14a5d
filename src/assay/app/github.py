"""GitHub, with what it allows and answers shared between processes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp

from assay.github.budget import TokenBudget
from assay.github.client import GitHub, GitHubUrls
from assay.github.identities import open_identities
from assay.github.response_cache import Answers
from assay.github.shared_budget import MOST_CALLS, PART
from assay.model.clock import Clock
from assay.settings import Settings
from assay.store.database.database import Database
from assay.store.repositories.cached_responses import AnswerShelf
from assay.store.repositories.call_budgets import AllowanceBook


@asynccontextmanager
async def opened_github(
    settings: Settings, session: aiohttp.ClientSession, clock: Clock, store: Database
) -> AsyncIterator[GitHub]:
    """GitHub as the settings name it; what it allows and answers to tokens is shared with the other processes."""
    urls = GitHubUrls(settings.github_api_url, settings.github_raw_url, settings.github_codeload_url)

    def now() -> float:
        return clock.now().timestamp()

    identities = open_identities(settings.plain_github_tokens, settings.github_app, session, urls.api, now)
    budget, answers = TokenBudget(identities, now), Answers()
    if identities:
        secret = settings.jwt_secret.get_secret_value() if settings.jwt_secret else ""
        budget = TokenBudget(identities, now, AllowanceBook(store, MOST_CALLS, PART), secret)
        answers = Answers(AnswerShelf(store))
    github = GitHub(session, urls, budget, answers)
    try:
        yield github
    finally:
        await github.close()
