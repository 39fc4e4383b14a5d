"""Tolerant parsing of shell code into pipelines of commands. No input is an error; unknown syntax is read as words."""

import re
from dataclasses import dataclass

from assay.scan.flow.shell.words import PartKind, Pipeline, Redirection, ShellCommand, Word, WordPart, WordReader
from assay.scan.text.code_blocks import split_blocks

_HERE = re.compile(r"<<(-?)\s*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([\w.!+-]+))")
_REDIRECTION = re.compile(r"(\d*|\{\w+\}|&)(<<<|<>|>>|>\||>&|<&|&>>|&>|>|<)")
_PROMPT = re.compile(r"^[ \t]*(?:[$%>❯] |\w+@\w+:[~/\w]*[$#] )", re.MULTILINE)


def parse_shell(code: str) -> tuple[tuple[Pipeline, ...], bool]:
    """Return the pipelines of a script in order, and whether all of it could be parsed."""
    pipelines: list[Pipeline] = []
    whole = True
    for line, block in split_blocks(_PROMPT.sub(lambda match: " " * len(match.group()), code)):
        parser = _Parser(block, line)
        pipelines += parser.script(inside=False)
        whole &= not parser.too_deep
    return tuple(pipelines), whole


@dataclass(slots=True)
class _Builder:
    """The pipelines read so far and the command being read."""

    pipelines: list[Pipeline]
    commands: list[ShellCommand]
    command: ShellCommand
    open_subshells: int = 0

    def end_command(self, line: int) -> None:
        if self.command.words or self.command.redirections:
            self.commands.append(self.command)
        self.command = ShellCommand(line)

    def end_pipeline(self, line: int) -> None:
        self.end_command(line)
        if self.commands:
            self.pipelines.append(Pipeline(self.commands))
            self.commands = []


class _Parser(WordReader):
    """Parses the code by index, in one pass."""

    def script(self, *, inside: bool) -> list[Pipeline]:
        """Parse pipelines up to the end, or to the parenthesis that closes a substitution."""
        built = _Builder([], [], ShellCommand(self.line))
        while self.at < len(self.code):
            if inside and self.code[self.at] == ")" and not built.open_subshells:
                self.at += 1
                break
            self._step(built)
        built.end_pipeline(self.line)
        return built.pipelines

    def _step(self, built: _Builder) -> None:
        char = self.code[self.at]
        if char == "\n":
            self._newline()
            built.end_pipeline(self.line)
        elif char in " \t\r\f\v":
            self.at += 1
        elif char == "\\" and self.code.startswith("\n", self.at + 1):
            self.at += 2
            self.line += 1
        elif char == "#":
            end = self.code.find("\n", self.at)
            self.at = len(self.code) if end < 0 else end
        elif self._here_document(built.command) or self._redirection(built.command):
            pass
        elif char in "|&;":
            self._separator(char, built)
        elif char in "()":
            self._parenthesis(char, built)
        else:
            built.command.words.append(self.word())

    def _separator(self, char: str, built: _Builder) -> None:
        double = self.code.startswith(char, self.at + 1)
        piped = char == "|" and not double
        self.at += 2 if double or self.code.startswith("|&", self.at) else 1
        if not piped:
            built.end_pipeline(self.line)
            return
        built.end_command(self.line)
        while self.at < len(self.code) and self.code[self.at] in " \t\r\n":  # a pipe continues on the next line
            if self.code[self.at] == "\n":
                self._newline()
            else:
                self.at += 1
        built.command = ShellCommand(self.line)

    def _parenthesis(self, char: str, built: _Builder) -> None:
        words = built.command.words
        self.at += 1
        if char == ")":
            built.end_pipeline(self.line)
            if built.open_subshells:
                built.open_subshells -= 1
                built.command.words.append(_text_word(")", self.line))
        elif self.code.startswith(")", self.at) and words:
            self.at += 1
            name = words[-1]
            built.command.words = [_text_word("function", self.line), name]
            built.end_pipeline(self.line)
        elif words and words[-1].plain.endswith("=") and self.code[self.at - 2] == "=":
            words[-1] = self._array(words[-1])
        else:
            built.open_subshells += 1
            built.command.words.append(_text_word("(", self.line))
            built.end_pipeline(self.line)

    def _array(self, name: Word) -> Word:
        """Parse the elements of name=( … ) as one word, separated by spaces."""
        parts = list(name.parts)
        while self.at < len(self.code) and self.code[self.at] != ")":
            char = self.code[self.at]
            if char in " \t\r\n;&|<>(":
                self.line += char == "\n"
                self.at += 1
                continue
            if char == "#":
                end = self.code.find("\n", self.at)
                self.at = len(self.code) if end < 0 else end
                continue
            parts += [*self.word().parts, WordPart(PartKind.TEXT, " ")]
        self.at += 1
        return Word(tuple(parts), name.line)

    def _newline(self) -> None:
        self.at += 1
        self.line += 1
        awaited, self.awaited = self.awaited, []
        for command, mark, literal in awaited:
            self._here_body(command, mark, literal)

    def _here_document(self, command: ShellCommand) -> bool:
        if not self.code.startswith("<<", self.at) or self.code.startswith("<<<", self.at):
            return False
        match = _HERE.match(self.code, self.at)
        if not match:
            return False
        self.at = match.end()
        mark = match[2] or match[3] or match[4]
        self.awaited.append((command, mark, bool(match[2] or match[3]) or "\\" in match[0]))
        return True

    def _here_body(self, command: ShellCommand, mark: str, literal: bool) -> None:
        begin, first_line = self.at, self.line
        while self.at < len(self.code):
            end = self.code.find("\n", self.at)
            end = len(self.code) if end < 0 else end
            row = self.code[self.at : end]
            self.at = min(end + 1, len(self.code))
            self.line += 1
            if row.strip() == mark:
                body = self.code[begin : end - len(row)]
                break
        else:
            body = self.code[begin:]
        parts = (WordPart(PartKind.TEXT, body),) if literal else self._inner(body, first_line)
        command.redirections.append(Redirection("", "<<", Word(parts, first_line)))

    def _inner(self, text: str, line: int) -> tuple[WordPart, ...]:
        """Parse text in which variables and substitutions are expanded, but quotes have no meaning."""
        inner = _Parser(text, line, self.depth + 1)
        parts = inner.expansions("")
        self.too_deep |= inner.too_deep
        return parts

    def _redirection(self, command: ShellCommand) -> bool:
        if self.code[self.at] not in "<>&0123456789{":
            return False
        match = _REDIRECTION.match(self.code, self.at)
        if not match or (match[2] in "<>" and self.code.startswith("(", match.end())):
            return False
        if match[1] == "&" and match[2] not in (">", ">>"):
            return False
        self.at = match.end()
        while self.at < len(self.code) and self.code[self.at] in " \t":
            self.at += 1
        if self.at < len(self.code) and self.code[self.at] not in "\n;|)":
            command.redirections.append(Redirection(match[1], match[2], self.word(after_redirection=True)))
        return True


def _text_word(text: str, line: int) -> Word:
    return Word((WordPart(PartKind.TEXT, text),), line)
