"""Token prices and estimates."""

import math
from dataclasses import dataclass

from assay.model.verdict import Usage

# English has about four bytes per token, other text fewer; a low number overestimates tokens.
BYTES_PER_TOKEN = 3
MICROS = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices per million tokens, in the currency unit of the budget."""

    prompt: float = 0.0
    completion: float = 0.0

    def usage(self, prompt_tokens: int, completion_tokens: int, *, is_estimated: bool = False) -> Usage:
        """Return tokens with their cost, rounded up to a millionth."""
        cost = prompt_tokens * self.prompt + completion_tokens * self.completion
        return Usage(prompt_tokens, completion_tokens, math.ceil(cost), is_estimated)


def tokens_of(text: str) -> int:
    """Estimate the number of tokens of a text, rather too high than too low."""
    return math.ceil(len(text.encode(errors="replace")) / BYTES_PER_TOKEN)
