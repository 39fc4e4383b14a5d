"""Tolerant parsing of the words of a shell script: text, variables, quotes and substitutions."""

import re
from dataclasses import dataclass, field
from enum import Enum, auto

# Deeper substitutions are read as plain text; no person writes them.
_DEPTH = 24
# Repeats are bounded wherever a missing end would be searched for again from every start.
_VARIABLE = re.compile(r"\$(?:(\w+)|([@*#?$!-])|\{[!#]?(\w+|[@*])([^}\n]{0,200})\})")
_PLAIN = re.compile(r"[^\s'\"\\$`|&;()<>#{}]+")
_ARITHMETIC = re.compile(r"\(\([^()\n]{0,200}(?:\([^()\n]{0,200}\)[^()\n]{0,200}){0,20}\)\)")
_ESCAPED = re.compile(r"\\(?:x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{4}|[0-7]{1,3})")
_MARK = re.compile(r"[\"\\$`]")


class PartKind(Enum):
    TEXT = auto()
    VARIABLE = auto()
    OUTPUT = auto()  # $(…) and `…`
    STREAM = auto()  # <(…) and >(…)


@dataclass(frozen=True, slots=True)
class WordPart:
    """One part of a word: text, the name of a variable, or a script whose output is inserted."""

    kind: PartKind
    text: str = ""
    script: tuple["Pipeline", ...] = ()
    encoded: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    parts: tuple[WordPart, ...]
    line: int
    # True if the word is interrupted by unnecessary quotes or backslashes, as in c""url.
    broken: bool = False

    @property
    def plain(self) -> str:
        """The text of a word without expansions, otherwise empty."""
        return "".join(p.text for p in self.parts) if all(p.kind is PartKind.TEXT for p in self.parts) else ""


@dataclass(frozen=True, slots=True)
class Redirection:
    descriptor: str
    operator: str
    target: Word


@dataclass(slots=True)
class ShellCommand:
    line: int
    words: list[Word] = field(default_factory=list)
    redirections: list[Redirection] = field(default_factory=list)


@dataclass(slots=True)
class Pipeline:
    commands: list[ShellCommand]

    @property
    def line(self) -> int:
        return self.commands[0].line


class WordReader:
    """Parses words by index, and nested substitutions recursively."""

    def __init__(self, code: str, line: int = 1, depth: int = 0) -> None:
        self.code = code
        self.at = 0
        self.line = line
        self.depth = depth
        self.too_deep = False
        self.awaited: list[tuple[ShellCommand, str, bool]] = []
        self.last_quote = {mark: code.rfind(mark) for mark in "'\"`"}

    def script(self, *, inside: bool) -> list[Pipeline]:
        """Parse pipelines to the end, or to the parenthesis that closes a substitution; implemented by a subclass."""
        raise NotImplementedError

    def word(self, *, after_redirection: bool = False) -> Word:
        """Parse one word. Always consumes at least one character, so that parsing proceeds."""
        line, begin = self.line, self.at
        parts: list[WordPart] = []
        broken = False
        while self.at < len(self.code):
            char = self.code[self.at]
            if char in " \t\r\n\f\v|;)" or (char == "&" and not (after_redirection and self.at == begin)):
                break
            if char in "<>(" and self.at > begin:
                break
            before = len(parts)
            if char in "'\"":
                self._quoted(char, parts)
                inside = self.at - begin > 2 and self.at < len(self.code)
                empty = len(parts) == before or not parts[-1].text
                broken |= empty and inside and (self.code[self.at] not in " \t\n;|&)" or before > 0)
                broken |= _is_cut(parts, before, self.code, self.at)
            elif char == "\\":
                broken |= self._escaped(parts) and self.at - 2 > begin
            elif char in "<>":
                self._stream(parts)
            elif not self._expansion(parts):
                match = _PLAIN.match(self.code, self.at)
                end = match.end() if match else self.at + 1
                parts.append(WordPart(PartKind.TEXT, self.code[self.at : end]))
                self.at = end
        return Word(tuple(parts), line, broken)

    def _quoted(self, mark: str, parts: list[WordPart]) -> None:
        self.at += 1
        if self.last_quote[mark] < self.at:  # an apostrophe that is never closed is a literal
            parts.append(WordPart(PartKind.TEXT, mark))
        elif mark == "'":
            end = self.code.find("'", self.at)
            text = self.code[self.at : end]
            self.line += text.count("\n")
            self.at = end + 1
            parts.append(WordPart(PartKind.TEXT, text))
        else:
            parts.extend(self.expansions('"'))

    def expansions(self, closing: str) -> tuple[WordPart, ...]:
        """Parse the parts up to the closing quote, or to the end."""
        parts: list[WordPart] = []
        text: list[str] = []
        while self.at < len(self.code):
            char = self.code[self.at]
            if char == closing:
                self.at += 1
                break
            if char == "\\" and self.at + 1 < len(self.code):
                following = self.code[self.at + 1]
                text.append("" if following == "\n" else following if following in '$`"\\' else char + following)
                self.line += following == "\n"
                self.at += 2
            elif char in "$`":
                if text:
                    parts.append(WordPart(PartKind.TEXT, "".join(text)))
                    text = []
                if not self._expansion(parts):
                    text.append(char)
                    self.at += 1
            else:
                end = _next_mark(self.code, self.at + 1)
                text.append(self.code[self.at : end])
                self.line += self.code.count("\n", self.at, end)
                self.at = end
        if text:
            parts.append(WordPart(PartKind.TEXT, "".join(text)))
        return tuple(parts)

    def _escaped(self, parts: list[WordPart]) -> bool:
        """Parse a backslash outside quotes. Returns true if escaping was unnecessary."""
        following = self.code[self.at + 1 : self.at + 2]
        self.at += 2
        if following == "\n":
            self.line += 1
            return False
        parts.append(WordPart(PartKind.TEXT, following))
        return following.isalpha()

    def _stream(self, parts: list[WordPart]) -> None:
        if self.code.startswith("(", self.at + 1):
            self.at += 2
            parts.append(WordPart(PartKind.STREAM, script=self._nested()))
        else:
            parts.append(WordPart(PartKind.TEXT, self.code[self.at]))
            self.at += 1

    def _expansion(self, parts: list[WordPart]) -> bool:
        """Parse a variable or substitution at this position, if there is one."""
        code, at = self.code, self.at
        if code[at] == "`":
            return self._backticks(parts)
        if code[at] != "$":
            return False
        if code.startswith("$((", at) and (match := _ARITHMETIC.match(code, at + 1)):
            self.at = match.end()
            parts.append(WordPart(PartKind.VARIABLE, "#arithmetic"))
        elif code.startswith("$(", at):
            self.at += 2
            parts.append(WordPart(PartKind.OUTPUT, script=self._nested()))
        elif code.startswith("$'", at):
            self._ansi_quoted(parts)
        elif code.startswith('$"', at):
            self.at += 1
        elif match := _VARIABLE.match(code, at):
            self.at = match.end()
            name = match[1] or match[2] or match[3]
            parts.append(WordPart(PartKind.VARIABLE, name, encoded=bool(match[4] and match[4][0] == ":")))
        else:
            return False
        return True

    def _nested(self) -> tuple[Pipeline, ...]:
        if self.depth >= _DEPTH:
            self.too_deep = True
            return ()
        self.depth += 1
        awaited, self.awaited = self.awaited, []
        script = tuple(self.script(inside=True))
        self.awaited = awaited
        self.depth -= 1
        return script

    def _backticks(self, parts: list[WordPart]) -> bool:
        if self.last_quote["`"] <= self.at or self.depth >= _DEPTH:
            return False
        end = self.code.find("`", self.at + 1)
        inner = type(self)(self.code[self.at + 1 : end], self.line, self.depth + 1)
        parts.append(WordPart(PartKind.OUTPUT, script=tuple(inner.script(inside=False))))
        self.too_deep |= inner.too_deep
        self.line += self.code.count("\n", self.at, end)
        self.at = end + 1
        return True

    def _ansi_quoted(self, parts: list[WordPart]) -> None:
        end = self.at + 2
        while end < len(self.code) and self.code[end] != "'":
            end += 2 if self.code[end] == "\\" else 1
        text = self.code[self.at + 2 : end]
        self.line += text.count("\n")
        self.at = end + 1
        decoded = decode_escapes(text)
        hidden = decoded != text and any(char.isalnum() for char in decode_escapes(" ".join(_ESCAPED.findall(text))))
        parts.append(WordPart(PartKind.TEXT, decoded, encoded=hidden))


def decode_escapes(text: str) -> str:
    """Decode \\x41, \\u0041 and \\101."""

    def letter(match: re.Match[str]) -> str:
        digits = match[0][1:]
        code = int(digits[1:], 16) if digits[0] in "xu" else int(digits, 8)
        return chr(code)

    return _ESCAPED.sub(letter, text).replace("\\n", "\n").replace("\\t", "\t")


def _next_mark(code: str, at: int) -> int:
    match = _MARK.search(code, at)
    return match.start() if match else len(code)


def _is_cut(parts: list[WordPart], before: int, code: str, at: int) -> bool:
    """Return true if one to three quoted letters are within a word, as in c'u'rl."""
    if len(parts) != before + 1 or not parts[-1].text.isalpha() or before == 0:
        return False
    return parts[before - 1].text[-1:].isalpha() and len(parts[-1].text) <= 3 and code[at : at + 1].isalpha()
