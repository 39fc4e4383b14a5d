"""Settings of deep scans."""

from pathlib import Path

from pydantic import Field, field_validator

from assay.model.deep_scan import DeepTool
from assay.settings.values import SettingsGroup, split_commas


class DeepScanSettings(SettingsGroup):
    deep_scan_tools: tuple[DeepTool, ...] = Field(
        (DeepTool.SEMGREP, DeepTool.NJSSCAN, DeepTool.KINGFISHER),
        description="The external tools that scan published skills, separated by commas; `none` turns deep scans off.",
    )
    deep_scan_lease_seconds: int = Field(
        120, ge=5, le=3600, description="Seconds without a heartbeat after which a scan node loses its scans."
    )
    deep_scan_waiting_seconds: int = Field(
        3600, ge=60, le=604800, description="Seconds after which a waiting deep scan raises an alarm."
    )
    deep_scan_dir: Path | None = Field(
        None,
        description="Folder with the scan tools. Default: the folder `deepscan` beside the Python that runs Assay.",
    )

    @field_validator("deep_scan_tools", mode="before")
    @classmethod
    def _parse_tools(cls, value: object) -> object:
        return () if value == "none" else split_commas(value)
