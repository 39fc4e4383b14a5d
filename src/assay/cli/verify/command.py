"""`assay verify`: verify a folder, an archive or a published skill against its hallmark."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.certify.compare import Differences, Statement, compare_files
from assay.cli.ui.exit_codes import Exit
from assay.cli.ui.options import AsJson, Url
from assay.cli.ui.terminal import print_json, print_note, printable
from assay.cli.verify.folder import PROOFS, hash_files
from assay.cli.verify.proof import Forged, Proof, read_keys, read_proof
from assay.fetch.limits import Limits
from assay.model.errors import Invalid

NAME = re.compile(r"[\w.~-]+/[\w.-]+/[\w.-]+(@[\w.+-]+)?")
MAX_SHOWN = 20


@dataclass(frozen=True)
class Verification:
    """The result. Without a statement, no trusted key has signed the hallmark.

    `names` are the accepted names of the skill, if it was requested by name.
    """

    what: str
    statement: Statement | None
    differences: Differences
    signers: list[str]
    names: frozenset[str] | None = None

    @property
    def is_for_another_skill(self) -> bool:
        """True if the hallmark was signed for another skill than the requested one."""
        return self.names is not None and self.statement is not None and self.statement.skill not in self.names

    @property
    def is_good(self) -> bool:
        """True if the hallmark is valid for the requested skill, and its files are exactly the certified ones."""
        return self.statement is not None and not self.differences and not self.is_for_another_skill


def verify(
    what: Annotated[
        str, typer.Argument(metavar="FOLDER|ARCHIVE|NAME[@VERSION]", help="The folder, archive or listing to verify.")
    ],
    hallmark: Annotated[
        Path | None, typer.Option("--hallmark", metavar="FILE", help="The hallmark; default: hallmark.json.")
    ] = None,
    keys: Annotated[
        Path | None,
        typer.Option(
            "--keys",
            metavar="FILE",
            help="The keys of the registry, from a source you trust; default: assay-keys.json.",
        ),
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Verify that a skill consists of exactly the files that a registry certified.

    A folder or an archive is verified offline, with the files `hallmark.json` and `assay-keys.json` in or beside it, or
    with those passed as options. A name is fetched from the registry, and its hallmark must be signed for that name or
    for another name of the same listing. Exits with 0 if everything matches, and with 1 if anything differs.

    Example: assay verify owner/repository/skill@1.0.0
    """
    verification = _check(what, hallmark, keys, url)
    if as_json:
        print_json(_document(verification))
    else:
        _show(verification)
    raise typer.Exit(Exit.DONE if verification.is_good else Exit.REFUSED)


def _check(what: str, hallmark: Path | None, keys: Path | None, url: str | None) -> Verification:
    path = Path(what).expanduser()
    if path.exists():
        proof = read_proof(path, hallmark, keys)
        return _compare(what, proof, hash_files(path, Limits()))
    if not NAME.fullmatch(what):
        raise Invalid(f"{what!r} is neither a folder, an archive, nor a name such as owner/repository/skill@1.0.0.")
    from assay.cli.verify.published import fetch_published  # noqa: PLC0415 - loads the network stack (1 s)

    published = fetch_published(what, url, read_keys(keys) if keys else None)
    return _compare(what, published.proof, published.hashes, published.names)


def _compare(what: str, proof: Proof, hashes: dict[str, str], names: frozenset[str] | None = None) -> Verification:
    try:
        statement = proof.open()
    except Forged:
        return Verification(what, None, Differences(), proof.signers)
    # Proof files in the folder are not part of the skill, unless they are certified themselves.
    present = {path: digest for path, digest in hashes.items() if path not in PROOFS or path in statement.files}
    return Verification(what, statement, compare_files(statement, present), proof.signers, names)


def _show(verification: Verification) -> None:
    if verification.statement is None:
        named = ", ".join(verification.signers) or "no key"
        print_note(f"{verification.what}: the hallmark is not signed by a trusted key. It names {named}.")
        return
    predicate = verification.statement.predicate
    if verification.is_for_another_skill:
        signed = verification.statement.skill
        print_note(f"{verification.what}: the hallmark is signed for {signed}, not for the requested skill.")
        return
    if not verification.differences:
        facts = ", ".join(f"{name} {predicate[name]}" for name in ("tier", "score", "commit") if name in predicate)
        print(printable(f"{verification.what}: verified. {predicate.get('skill')}: {facts}."))
        print(printable(f"Signed by key {', '.join(verification.signers)}, {len(verification.statement.files)} files."))
        return
    print_note(f"{verification.what}: differs from what was certified as {predicate.get('skill')}.")
    for word in ("changed", "added", "missing"):
        paths = getattr(verification.differences, word)
        for path in paths[:MAX_SHOWN]:
            print_note(f"  {word}: {path}")
        if len(paths) > MAX_SHOWN:
            print_note(f"  {word}: and {len(paths) - MAX_SHOWN:,} more")


def _document(verification: Verification) -> dict[str, Any]:
    statement, differences = verification.statement, verification.differences
    return {
        "ok": verification.is_good,
        "signed": statement is not None,
        "ofAnother": verification.is_for_another_skill,
        "keyIds": verification.signers,
        "changed": list(differences.changed),
        "added": list(differences.added),
        "missing": list(differences.missing),
        "statement": statement.predicate if statement else None,
    }
