"""The external tools that look at what is published."""

from pathlib import Path

from pydantic import Field, field_validator

from assay.model.deep_scan import DeepTool
from assay.settings.values import Part, split


class DeepScanSettings(Part):
    """The external tools that look at what is published."""

    deep_scan_tools: tuple[DeepTool, ...] = Field(
        (DeepTool.SEMGREP, DeepTool.NJSSCAN, DeepTool.KINGFISHER),
        description="The external tools that look at what is published, separated by commas; `none` for none.",
    )
    deep_scan_lease_seconds: int = Field(
        120, ge=5, le=3600, description="A scan node silent for so long loses its scans."
    )
    deep_scan_waiting_seconds: int = Field(
        3600, ge=60, le=604800, description="An alarm is raised when a deep scan has waited for so long."
    )
    deep_scan_dir: Path | None = Field(
        None, description="Where the scan tools are installed. None: `deepscan` beside the Python that runs Assay."
    )

    @field_validator("deep_scan_tools", mode="before")
    @classmethod
    def _none_is_none(cls, value: object) -> object:
        return () if value == "none" else split(value)
