"""From admissions to views."""

from litestar.status_codes import HTTP_200_OK, HTTP_201_CREATED

from assay.model.errors import Invalid
from assay.submit.admission import Accepted, Admission
from assay.submit.bulk import Batch, Result
from assay.web.submissions.json import AcceptedView, BatchView, ItemOutcome, ItemView


def present_accepted(accepted: Accepted, base_url: str, batch: BatchView | None = None) -> tuple[int, AcceptedView]:
    """The status and the answer to one admission."""
    submission = accepted.submission
    view = AcceptedView(
        id=submission.id,
        state=submission.state,
        created_at=submission.created_at,
        duplicate=accepted.admission is Admission.DUPLICATE,
        already_verified=accepted.was_published,
        blocked=accepted.admission is Admission.BLOCKED,
        skill_id=submission.skill_id,
        status_url=f"{base_url}/submissions/{submission.id}",
        batch=batch,
    )
    is_new = batch.created > 0 if batch else accepted.admission is Admission.CREATED
    return (HTTP_201_CREATED if is_new else HTTP_200_OK), view


def present_admitted(batch: Batch, base_url: str) -> tuple[int, AcceptedView]:
    """The first one that was admitted speaks for the batch; if none was, the first error does."""
    first = next((each for each in batch.results if isinstance(each, Accepted)), None)
    if first is None:
        index, problem = batch.errors[0]
        raise Invalid(f"skills[{index}]: {problem.message}", code=problem.code)
    return present_accepted(first, base_url, present_batch(batch))


def present_batch(batch: Batch) -> BatchView:
    """What became of each item, and how many ended how."""
    return BatchView(
        batch_id=batch.id,
        total=len(batch.results),
        created=batch.count(Admission.CREATED),
        reopened=batch.count(Admission.REOPENED),
        duplicates=batch.count(Admission.DUPLICATE),
        blocked=batch.count(Admission.BLOCKED),
        errors=len(batch.errors),
        results=[_present_item(index, each) for index, each in enumerate(batch.results)],
    )


def _present_item(index: int, result: Result) -> ItemView:
    if isinstance(result, Accepted):
        submission = result.submission
        return ItemView(
            index=index,
            outcome=ItemOutcome(result.admission.value),
            id=submission.id,
            state=submission.state,
            skill_name=submission.skill_name,
            skill_path=submission.skill_path,
            already_verified=result.was_published,
        )
    return ItemView(index=index, outcome=ItemOutcome.ERROR, code=result.code, detail=result.message)
