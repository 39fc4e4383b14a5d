"""Secrets typed by the user or read from standard input; they are never arguments, which other users can see."""

import re
import sys

import typer

from assay.cli.ui.exit_codes import Exit
from assay.model.errors import Invalid

MAX_LENGTH = 4_096
TOKEN = re.compile(r"[!-~]+")


def prompt_secret(label: str, *, option: str) -> str:
    """Ask for a secret without showing it. Raises Invalid, naming `option`, if there is no terminal."""
    if not sys.stdin.isatty():
        raise Invalid(f"There is no terminal to ask for the {label.lower()}: use {option}.")
    try:
        typed: str = typer.prompt(label, hide_input=True, err=True)
    except typer.Abort:
        raise typer.Exit(Exit.INTERRUPTED) from None
    return typed


def read_secret_line(label: str) -> str:
    """Return the first line of standard input. Raises Invalid if it is empty, too long, or not text."""
    try:
        line = sys.stdin.readline(MAX_LENGTH + 1).rstrip("\r\n")
    except UnicodeDecodeError:
        line = ""
    if not line or len(line) > MAX_LENGTH:
        raise Invalid(f"Standard input must have the {label.lower()} on its first line.")
    return line


def checked_token(text: str) -> str:
    """Return the token without surrounding spaces. Raises Invalid if it cannot be one."""
    token = text.strip()
    if not TOKEN.fullmatch(token):
        raise Invalid("A token has only letters, digits and punctuation, without spaces.")
    return token
