"""Settings of the rules, the policy and the judge."""

from pathlib import Path
from typing import Self

from pydantic import Field, SecretStr, model_validator

from assay.settings.values import HttpUrl, SettingsGroup


class JudgeSettings(SettingsGroup):
    ruleset: Path | None = Field(
        None, description="Folder with your own rules (`*.toml`), used in addition to the built-in ones."
    )
    fast_approve_threshold: int = Field(
        75, ge=0, le=100, description="Skills with a higher score are published at once, and judged later."
    )
    llm_url: HttpUrl | None = Field(
        None,
        description="URL of the judge: an endpoint compatible with OpenAI's chat completions, up to `/v1`. Without it,"
        " there is no judge.",
    )
    llm_model: str | None = Field(None, min_length=1, max_length=200, description="Name of the judge's model.")
    llm_api_key: SecretStr | None = Field(None, description="API key of the judge's endpoint, if it requires one.")
    llm_daily_budget: float | None = Field(
        5.0,
        ge=0,
        le=1_000_000,
        description="Maximum cost of the judge per day, in the currency of the prices; when spent, the judge waits.",
    )
    llm_prompt_price: float = Field(0.0, ge=0, le=10_000, description="Price of a million prompt tokens.")
    llm_completion_price: float = Field(0.0, ge=0, le=10_000, description="Price of a million completion tokens.")
    llm_timeout_seconds: float = Field(
        60.0, ge=0.05, le=600, description="Seconds after which a request to the judge times out."
    )
    llm_window_tokens: int = Field(
        32_000,
        ge=8_000,
        le=2_000_000,
        description="Context window of the model, in tokens; longer skills are judged in parts.",
    )
    llm_concurrency: int = Field(8, ge=1, le=200, description="Maximum number of concurrent requests per worker.")
    llm_pause_seconds: int = Field(
        30,
        ge=0,
        le=3600,
        description="Seconds without requests after the judge has failed; submissions are delayed for the same time.",
    )
    llm_patience_seconds: int = Field(
        21_600,
        ge=0,
        le=2_592_000,
        description="Seconds of failures of the judge after which submissions go to a reviewer instead.",
    )

    @model_validator(mode="after")
    def _check_judge(self) -> Self:
        if (self.llm_url is None) != (self.llm_model is None):
            raise ValueError("ASSAY_LLM_URL, ASSAY_LLM_MODEL: set both or neither")
        return self

    @property
    def llm_budget_micros(self) -> int | None:
        """The daily budget in millionths of the currency unit; None means unlimited."""
        return None if self.llm_daily_budget is None else round(self.llm_daily_budget * 1_000_000)
