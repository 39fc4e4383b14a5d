"""`assay keys`: the keys of this registry."""

import typer
from rich.table import Table

from assay import settings
from assay.app.app import key_files, open_app
from assay.app.keys import rotate_keys
from assay.cli.process.stopping import run_until_done
from assay.cli.ui.options import AsJson
from assay.cli.ui.terminal import open_console, print_json
from assay.settings import Settings
from assay.store.operations.audit import record_audit
from assay.store.versions.keys import KnownKey, list_keys, register_keys, retire_keys

app = typer.Typer(no_args_is_help=True, help="The keys that sign: list, rotate.")
BY = "assay keys rotate"


@app.command("list")
def show(as_json: AsJson = False) -> None:
    """Show every key that this registry has signed with, and which are retired."""
    known = run_until_done(_list(settings.read()))
    if as_json:
        print_json({"keys": [_document(key) for key in known]})
        return
    table = Table("key", "kind", "since", "retired", box=None)
    for key in known:
        retired = f"{key.retired_at:%Y-%m-%d %H:%M}" if key.retired_at else ""
        table.add_row(key.id, key.algorithm, f"{key.created_at:%Y-%m-%d %H:%M}", retired)
    open_console().print(table)


@app.command("rotate")
def rotate() -> None:
    """Sign with new keys from now on. What the old ones have signed stays good: their public halves stay known."""
    old, new = run_until_done(_rotate(settings.read()))
    print(f"Signing with {', '.join(new)} from now on, and no more with {', '.join(old)}.")
    print("Restart `assay web` and `assay worker`, which still have the old keys in hand.")


async def _list(chosen: Settings) -> list[KnownKey]:
    async with open_app(chosen, application="assay keys") as app, app.store.begin() as db:
        return await list_keys(db)


async def _rotate(chosen: Settings) -> tuple[list[str], list[str]]:
    async with open_app(chosen, application="assay keys") as app:
        old = [number for number, _, _ in app.keys.public]
        keys = rotate_keys(key_files(chosen))
        new = [number for number, _, _ in keys.public]
        async with app.store.begin() as db:
            await register_keys(db, keys.public)
            await retire_keys(db, old)
            await record_audit(db, BY, "keys_rotated", ", ".join(new), {"retired": old})
    return old, new


def _document(key: KnownKey) -> dict[str, object]:
    return {
        "id": key.id,
        "algorithm": key.algorithm,
        "publicKey": key.public_key,
        "createdAt": key.created_at.isoformat(),
        "retiredAt": key.retired_at.isoformat() if key.retired_at else None,
    }
