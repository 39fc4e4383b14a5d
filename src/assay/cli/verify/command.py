"""`assay verify`: hold a folder, an archive or a published skill against its hallmark."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.certify.compare import Differences, Statement, compare_files
from assay.cli.ui.exits import Exit
from assay.cli.ui.lazy import found_at
from assay.cli.ui.options import AsJson, Url
from assay.cli.ui.terminal import print_json, say, visible
from assay.cli.verify.folder import PROOFS, hashes_of
from assay.cli.verify.proof import Forged, Proof, read_keys, read_proof
from assay.fetch.limits import Limits
from assay.model.errors import Invalid

NAME = re.compile(r"[\w.~-]+/[\w.-]+/[\w.-]+(@[\w.+-]+)?")
SHOWN = 20


@dataclass(frozen=True)
class Checked:
    """How it came out. Without a statement, the hallmark itself is not to be trusted; `names` are those that it may be
    signed for, if one was asked for.
    """

    what: str
    statement: Statement | None
    differences: Differences
    signers: list[str]
    names: frozenset[str] | None = None

    @property
    def is_of_another(self) -> bool:
        """Whether the hallmark is that of another skill than was asked for."""
        return self.names is not None and self.statement is not None and self.statement.skill not in self.names

    @property
    def is_good(self) -> bool:
        """Whether every file is as it was certified, no other is there, and it is the skill that was asked for."""
        return self.statement is not None and not self.differences and not self.is_of_another


def verify(
    what: Annotated[str, typer.Argument(metavar="FOLDER|ARCHIVE|NAME[@VERSION]", help="What to verify.")],
    hallmark: Annotated[Path | None, typer.Option("--hallmark", metavar="FILE", help="The hallmark.")] = None,
    keys: Annotated[
        Path | None, typer.Option("--keys", metavar="FILE", help="The keys of the registry, from wherever you trust.")
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Say whether a skill is what a registry has certified: every file, and no other.

    A folder or an archive is verified without the network, with `hallmark.json` and `assay-keys.json` in it, beside it
    or given. A name is asked for at the registry, and the hallmark must be signed for it, or for another name of the
    same listing. The exit code is 0 if all is well, and 1 if anything was changed.
    """
    checked = _check(what, hallmark, keys, url)
    if as_json:
        print_json(_document(checked))
    else:
        _show(checked)
    raise typer.Exit(Exit.DONE if checked.is_good else Exit.REFUSED)


def _check(what: str, hallmark: Path | None, keys: Path | None, url: str | None) -> Checked:
    path = Path(what).expanduser()
    if path.exists():
        proof = read_proof(path, hallmark, keys)
        return _compare(what, proof, hashes_of(path, Limits()))
    if not NAME.fullmatch(what):
        raise Invalid(f"{what!r} is no folder, no archive, and no name like owner/repository/skill@1.0.0.")
    # The network is a second's worth of modules, which a folder does not need.
    fetch = found_at("assay.cli.verify.published:fetch_published")
    published = fetch(what, url, read_keys(keys) if keys else None)
    return _compare(what, published.proof, published.hashes, published.names)


def _compare(what: str, proof: Proof, hashes: dict[str, str], names: frozenset[str] | None = None) -> Checked:
    try:
        statement = proof.open()
    except Forged:
        return Checked(what, None, Differences(), proof.signers)
    # Proofs that lie in the folder are no part of it, unless they are certified themselves.
    present = {path: digest for path, digest in hashes.items() if path not in PROOFS or path in statement.files}
    return Checked(what, statement, compare_files(statement, present), proof.signers, names)


def _show(checked: Checked) -> None:
    if checked.statement is None:
        named = ", ".join(checked.signers) or "nobody"
        say(f"{checked.what}: the hallmark is not signed by any of the keys. It names {named}.")
        return
    predicate = checked.statement.predicate
    if checked.is_of_another:
        signed = checked.statement.skill
        say(f"{checked.what}: the hallmark is signed for {signed}, which is no name of what was asked for.")
        return
    if not checked.differences:
        facts = ", ".join(f"{name} {predicate[name]}" for name in ("tier", "score", "commit") if name in predicate)
        print(visible(f"{checked.what}: verified. {predicate.get('skill')}: {facts}."))
        print(visible(f"Signed by key {', '.join(checked.signers)}, {len(checked.statement.files)} files."))
        return
    say(f"{checked.what}: not what was certified as {predicate.get('skill')}.")
    for word in ("changed", "added", "missing"):
        paths = getattr(checked.differences, word)
        for path in paths[:SHOWN]:
            say(f"  {word}: {path}")
        if len(paths) > SHOWN:
            say(f"  {word}: and {len(paths) - SHOWN:,} more")


def _document(checked: Checked) -> dict[str, Any]:
    statement, differences = checked.statement, checked.differences
    return {
        "ok": checked.is_good,
        "signed": statement is not None,
        "ofAnother": checked.is_of_another,
        "keyIds": checked.signers,
        "changed": list(differences.changed),
        "added": list(differences.added),
        "missing": list(differences.missing),
        "statement": statement.predicate if statement else None,
    }
