"""`assay keys`: the signing keys of this registry."""

import typer
from rich.table import Table

from assay import settings
from assay.app.app import key_files, open_app
from assay.app.keys import rotate_keys
from assay.cli.process.stopping import run_async
from assay.cli.ui.options import AsJson
from assay.cli.ui.terminal import open_console, print_json
from assay.settings import Settings
from assay.store.operations.audit import record_audit
from assay.store.versions.keys import KnownKey, list_keys, register_keys, retire_keys

app = typer.Typer(no_args_is_help=True, help="List and rotate the signing keys.")
BY = "assay keys rotate"


@app.command("list")
def show(as_json: AsJson = False) -> None:
    """List every key that this registry has signed with, including retired ones."""
    known = run_async(_list(settings.read()))
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
    """Replace the signing keys. Signatures made with the old keys stay valid, because their public keys are kept."""
    old, new = run_async(_rotate(settings.read()))
    print(f"New signatures use {', '.join(new)} instead of {', '.join(old)}.")
    print("Restart `assay web` and `assay worker`: running processes still use the old keys.")


async def _list(config: Settings) -> list[KnownKey]:
    async with open_app(config, application="assay keys") as app, app.store.begin() as db:
        return await list_keys(db)


async def _rotate(config: Settings) -> tuple[list[str], list[str]]:
    async with open_app(config, application="assay keys") as app:
        old = [number for number, _, _ in app.keys.public]
        keys = rotate_keys(key_files(config))
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
