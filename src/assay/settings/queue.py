"""How the queue is worked on, and from when on something is wrong with it."""

from pydantic import Field

from assay.settings.values import Part


class QueueSettings(Part):
    """How the queue is worked on, and from when on something is wrong with it."""

    worker_batch: int = Field(10, ge=1, le=100, description="Jobs that a worker claims at once.")
    worker_concurrency: int = Field(
        20, ge=2, le=100, description="Batches in flight in a worker; 10 × 20 are 200 submissions."
    )
    scan_processes: int | None = Field(
        None, ge=1, le=256, description="Processes in which a worker scans. None: as many as there are cores."
    )
    enqueue_chunk: int = Field(100, ge=1, le=1000, description="Jobs of a bulk request that are one statement.")
    lease_seconds: int = Field(30, ge=2, le=3600, description="A worker silent for so long loses its jobs.")
    retry_seconds: int = Field(
        30, ge=0, le=3600, description="The n-th retry waits n times as long; three retries, then FAILED."
    )
    stuck_seconds: int = Field(
        300, ge=10, le=86400, description="A submission is stuck after so long in an active state."
    )
    stuck_received_seconds: int | None = Field(
        None, ge=10, le=604800, description="The same for submissions that wait. None: no other than the above."
    )
    oldest_waiting_seconds: int = Field(
        3600, ge=60, le=604800, description="An alarm is raised when a submission has waited for so long."
    )
    watch_seconds: int = Field(
        21_600, ge=0, le=2_592_000, description="Every listing is compared with its source so often. 0: never."
    )
    report_hours: int = Field(
        24, ge=1, le=8760, description="An alarm is raised when a security report has waited for so long."
    )
    review_hours: int = Field(
        168, ge=1, le=8760, description="An alarm is raised when a submission has waited for a reviewer for so long."
    )
