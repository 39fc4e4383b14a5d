"""Tolerant tokenizer for JavaScript and TypeScript. A template literal becomes a sum of its parts."""

import re
from dataclasses import dataclass
from enum import Enum, auto

from assay.scan.text.code_blocks import split_blocks


class TokenKind(Enum):
    NAME = auto()
    TEXT = auto()
    NUMBER = auto()
    PATTERN = auto()
    MARK = auto()


@dataclass(frozen=True, slots=True)
class Token:
    kind: TokenKind
    text: str
    line: int
    # True after a line break, where a statement may end without a semicolon.
    begins_line: bool


_TOKEN = re.compile(
    r"(?P<blank>[ \t\r\f\v\ufeff\xa0]+)|(?P<newline>\n)|(?P<comment>//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?|\A#![^\n]*)"
    r"|(?P<name>[\w$]+|#\w+)"
    r"|(?P<text>\"(?:[^\"\\\n]|\\[\s\S])*\"?|'(?:[^'\\\n]|\\[\s\S])*'?)"
    r"|(?P<mark>=>|\.\.\.|\?\.(?!\d)|\?\?=?|\|\|=?|&&=?|\*\*=?|===?|!==?|<<=?|>>>?=?|[<>+\-*%&|^]=|\+\+|--|[^\s\w])"
)
_TEMPLATE = re.compile(r"(?:[^`\\$]|\\[\s\S]|\$(?!\{))+")
_PATTERN = re.compile(r"/(?![*/])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.){0,200}\]){1,500}/[a-z]*")
_BEFORE_PATTERN = frozenset(
    {"return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "await", "yield"}
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|([\s\S]))")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\n": ""}
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def read_tokens(code: str) -> tuple[list[Token], list[int]]:
    """Return the tokens, and for each opening bracket the index of its partner (the end, if it has none)."""
    tokens: list[Token] = []
    for line, block in split_blocks(code):
        tokens += _Tokenizer(block, line).tokens()
    return tokens, _partners(tokens)


class _Tokenizer:
    def __init__(self, code: str, line: int) -> None:
        self.code = code
        self.at = 0
        self.line = line
        self.fresh = True
        self.found: list[Token] = []
        # The number of open braces within the ${…} of each open template.
        self.templates: list[int] = []

    def tokens(self) -> list[Token]:
        while self.at < len(self.code):
            self._step()
        return self.found

    def _step(self) -> None:
        char = self.code[self.at]
        if char == "`":
            self.at += 1
            self._add(TokenKind.MARK, "(")
            self._template()
        elif char == "}" and self.templates and self.templates[-1] == 0:
            self.templates.pop()
            self.at += 1
            self._add(TokenKind.MARK, ")")
            self._add(TokenKind.MARK, "+")
            self._template()
        elif char == "/" and self._pattern():
            pass
        else:
            self._plain()

    def _plain(self) -> None:
        match = _TOKEN.match(self.code, self.at)
        if match is None:
            self.at += 1
            return
        self.at = match.end()
        text = match[0]
        match match.lastgroup:
            case "newline":
                self.line += 1
                self.fresh = True
            case "name":
                self._add(TokenKind.NUMBER if text[0].isdigit() else TokenKind.NAME, text)
            case "text":
                self._add(TokenKind.TEXT, decode_text(text))
                self.line += text.count("\n")
            case "mark":
                if self.templates and text in "{}":
                    self.templates[-1] += 1 if text == "{" else -1
                self._add(TokenKind.MARK, text)
            case _:
                self.line += text.count("\n")
                self.fresh |= "\n" in text

    def _template(self) -> None:
        """Read the next part of a template, up to its end or to an expression in it."""
        match = _TEMPLATE.match(self.code, self.at)
        text = match[0] if match else ""
        self.at += len(text)
        self._add(TokenKind.TEXT, _ESCAPE.sub(_letter, text))
        self.line += text.count("\n")
        if self.code.startswith("${", self.at):
            self.at += 2
            self.templates.append(0)
            self._add(TokenKind.MARK, "+")
            self._add(TokenKind.MARK, "(")
        else:
            self.at += 1
            self._add(TokenKind.MARK, ")")

    def _pattern(self) -> bool:
        """Read a regular expression literal, where a division is not possible."""
        before = self.found[-1] if self.found else None
        if before and before.kind is not TokenKind.MARK and before.text not in _BEFORE_PATTERN:
            return False
        if before and before.kind is TokenKind.MARK and before.text in (")", "]", "}"):
            return False
        match = _PATTERN.match(self.code, self.at)
        if match is None:
            return False
        self.at = match.end()
        self._add(TokenKind.PATTERN, match[0])
        return True

    def _add(self, kind: TokenKind, text: str) -> None:
        self.found.append(Token(kind, text, self.line, self.fresh))
        self.fresh = False


def decode_text(literal: str) -> str:
    """Return the value of a string literal."""
    inner = literal[1:-1] if len(literal) > 1 and literal[-1] == literal[0] else literal[1:]
    return _ESCAPE.sub(_letter, inner) if "\\" in inner else inner


def _letter(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3]
    if digits:
        code = int(digits, 16)
        return chr(code) if code < 0x110000 else ""
    return _LETTERS.get(match[4], match[4])


def _partners(tokens: list[Token]) -> list[int]:
    partners = [len(tokens)] * len(tokens)
    open_brackets: list[int] = []
    for position, token in enumerate(tokens):
        if token.kind is not TokenKind.MARK:
            continue
        if token.text in _CLOSING:
            open_brackets.append(position)
        elif open_brackets and _CLOSING[tokens[open_brackets[-1]].text] == token.text:
            partners[open_brackets.pop()] = position
    return partners
