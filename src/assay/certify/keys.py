"""The two keys of a registry, together."""

from dataclasses import dataclass
from enum import StrEnum

from assay.certify.hallmark import SigningKey
from assay.certify.oms import ModelKey


class Algorithm(StrEnum):
    """What a key is for: hallmarks and signed answers, or tools for models."""

    ED25519 = "ed25519"
    ECDSA_P256 = "ecdsa-p256"


@dataclass(frozen=True)
class SigningKeys:
    """One key for hallmarks and signed answers, one for tools that know no such key."""

    hallmark: SigningKey
    model: ModelKey

    @property
    def public(self) -> tuple[tuple[str, str, Algorithm], ...]:
        """Id, public half and kind of each."""
        return (
            (self.hallmark.id, self.hallmark.public_pem, Algorithm.ED25519),
            (self.model.id, self.model.public_pem, Algorithm.ECDSA_P256),
        )
