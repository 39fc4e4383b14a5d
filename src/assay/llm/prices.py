"""What tokens cost, and how many a text may be."""

import math
from dataclasses import dataclass

from assay.model.judgement import Usage

# Tokenizers make a token of about four bytes of English and of fewer of anything else. Fewer is the safe side.
BYTES_A_TOKEN = 3
MICROS = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """The price of a million tokens, in whatever unit the budget is in."""

    prompt: float = 0.0
    completion: float = 0.0

    def usage(self, prompt_tokens: int, completion_tokens: int, *, is_estimated: bool = False) -> Usage:
        """So many tokens with what they cost; parts of a millionth count as one."""
        cost = prompt_tokens * self.prompt + completion_tokens * self.completion
        return Usage(prompt_tokens, completion_tokens, math.ceil(cost), is_estimated)


def tokens_of(text: str) -> int:
    """At least as many as a tokenizer would make of it, or nearly so."""
    return math.ceil(len(text.encode(errors="replace")) / BYTES_A_TOKEN)
