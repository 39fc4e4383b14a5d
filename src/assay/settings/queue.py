"""Settings of the workers, and of the limits that raise alarms."""

from pydantic import Field

from assay.settings.values import SettingsGroup


class QueueSettings(SettingsGroup):
    worker_batch: int = Field(10, ge=1, le=100, description="Number of jobs that a worker claims at once.")
    worker_concurrency: int = Field(
        20,
        ge=2,
        le=100,
        description="Maximum number of batches in progress per worker; 20 batches of 10 are 200 submissions.",
    )
    scan_processes: int | None = Field(
        None, ge=1, le=256, description="Number of scan processes per worker. Default: the number of CPUs."
    )
    enqueue_chunk: int = Field(
        100, ge=1, le=1000, description="Number of jobs of a bulk request that are inserted per statement."
    )
    lease_seconds: int = Field(
        30, ge=2, le=3600, description="Seconds without a heartbeat after which a worker loses its jobs."
    )
    retry_seconds: int = Field(
        30,
        ge=0,
        le=3600,
        description="Seconds before the first retry; the n-th retry waits n times as long. After three retries, a"
        " submission is FAILED.",
    )
    stuck_seconds: int = Field(
        300, ge=10, le=86400, description="Seconds in an active state after which a submission is stuck."
    )
    stuck_received_seconds: int | None = Field(
        None,
        ge=10,
        le=604800,
        description="Seconds of waiting after which a submission is stuck. Default: `ASSAY_STUCK_SECONDS`.",
    )
    oldest_waiting_seconds: int = Field(
        3600, ge=60, le=604800, description="Seconds after which a waiting submission raises an alarm."
    )
    watch_seconds: int = Field(
        21_600,
        ge=0,
        le=2_592_000,
        description="Seconds between two checks of a listing's repository for new commits; 0 turns the checks off.",
    )
    report_hours: int = Field(
        24, ge=1, le=8760, description="Hours after which an open security report raises an alarm."
    )
    review_hours: int = Field(
        168, ge=1, le=8760, description="Hours after which a submission that waits for a reviewer raises an alarm."
    )
