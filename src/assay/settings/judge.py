"""The rules, where the line is drawn, and the model that is asked."""

from pathlib import Path
from typing import Self

from pydantic import Field, SecretStr, model_validator

from assay.settings.values import HttpUrl, Part


class JudgeSettings(Part):
    """The rules, where the line is drawn, and the model that is asked."""

    ruleset: Path | None = Field(
        None, description="A folder of rules of your own (`*.toml`) beside those that ship. None: those that ship."
    )
    fast_approve_threshold: int = Field(75, ge=0, le=100, description="Scores above it need no LLM judge at first.")
    llm_url: HttpUrl | None = Field(
        None, description="The judge: an endpoint that speaks OpenAI's chat completions, up to `/v1`. None: no judge."
    )
    llm_model: str | None = Field(None, min_length=1, max_length=200, description="The model that is asked for.")
    llm_api_key: SecretStr | None = Field(None, description="The key of the endpoint, if it wants one.")
    llm_daily_budget: float | None = Field(
        5.0,
        ge=0,
        le=1_000_000,
        description="So much may be spent a day, in the unit of the prices; then the judge waits.",
    )
    llm_prompt_price: float = Field(0.0, ge=0, le=10_000, description="The price of a million tokens that are sent.")
    llm_completion_price: float = Field(0.0, ge=0, le=10_000, description="The price of a million tokens of answers.")
    llm_timeout_seconds: float = Field(60.0, ge=0.05, le=600, description="How long one answer may take.")
    llm_window_tokens: int = Field(
        32_000, ge=8_000, le=2_000_000, description="What the model can read at once; more is read in parts."
    )
    llm_concurrency: int = Field(8, ge=1, le=200, description="Questions under way at once in a worker.")
    llm_pause_seconds: int = Field(
        30, ge=0, le=3600, description="A judge that fails is left alone for so long, and submissions wait as long."
    )
    llm_patience_seconds: int = Field(
        21_600, ge=0, le=2_592_000, description="A judge that fails for so long is not waited for: a person looks."
    )

    @model_validator(mode="after")
    def _a_judge_is_complete(self) -> Self:
        if (self.llm_url is None) != (self.llm_model is None):
            raise ValueError("ASSAY_LLM_URL, ASSAY_LLM_MODEL: set both or neither")
        return self

    @property
    def llm_budget_micros(self) -> int | None:
        """The budget of a day in millionths."""
        return None if self.llm_daily_budget is None else round(self.llm_daily_budget * 1_000_000)
