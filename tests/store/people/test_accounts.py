"""Accounts: one login is one account."""

import asyncio

import pytest
from sqlalchemy.exc import IntegrityError

from assay.accounts.admins import create_admin
from assay.accounts.passwords import hash_password
from assay.model.errors import Conflict
from assay.store.people.accounts import find_local_account, page_accounts_with_roles
from tests.support.registry import Registry
from tests.support.web.people import CHEAP, signed_in


async def test_concurrent_creation_makes_one_account(registry: Registry) -> None:
    """In any case."""

    async def create(login: str) -> str:
        try:
            async with registry.app.store.begin() as db:
                await create_admin(db, login, hash_password(f"password of {login}", CHEAP))
        except Conflict:
            return "conflict"
        return login

    made = await asyncio.gather(*(create(login) for login in ("root", "ROOT", "Root", "rOOt")))
    assert sorted(made).count("conflict") == 3
    async with registry.app.store.begin() as db:
        assert len(await page_accounts_with_roles(db, None, 10)) == 1


async def test_github_login_does_not_match_a_password_account(registry: Registry) -> None:
    await signed_in(registry.app, "root", admin=True)
    async with registry.app.store.begin() as db:
        assert await find_local_account(db, "root") is None
        await create_admin(db, "root", hash_password("a password of ours", CHEAP))
        assert len(await page_accounts_with_roles(db, None, 10)) == 2


@pytest.mark.parametrize("proof", ["github_id = 7, password_hash = 'x'", "github_id = NULL, password_hash = NULL"])
async def test_account_has_exactly_one_credential_kind(registry: Registry, proof: str) -> None:
    """Enforced by the database."""
    await signed_in(registry.app, "alice")
    with pytest.raises(IntegrityError, match="account_one_proof_check"):
        async with registry.app.store.begin() as db:
            await db.exec_driver_sql(f"UPDATE account SET {proof}")
