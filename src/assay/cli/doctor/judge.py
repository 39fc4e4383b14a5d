"""What the doctor sees of the judge without asking it: whether there is one, and whether its budget can end."""

from assay.cli.doctor.check import Check, odd, well
from assay.settings import Settings

NAME = "judge"


def check_judge(settings: Settings) -> Check:
    """A budget without prices stops nothing, and a bill is a late way to learn that."""
    if settings.llm_url is None:
        return well(NAME, "there is none: rules decide, and people")
    is_priced = settings.llm_prompt_price > 0 or settings.llm_completion_price > 0
    if settings.llm_daily_budget is None:
        return odd(NAME, f"{settings.llm_model} may cost any sum a day", "Set ASSAY_LLM_DAILY_BUDGET.")
    if not is_priced:
        advice = "Set ASSAY_LLM_PROMPT_PRICE and ASSAY_LLM_COMPLETION_PRICE, unless the model costs nothing."
        return odd(NAME, f"{settings.llm_model} has no price, so its daily budget stops nothing", advice)
    return well(NAME, f"{settings.llm_model}, for at most {settings.llm_daily_budget:g} a day")
