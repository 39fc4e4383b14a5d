"""What the doctor sees of deep scans: the tools of this machine, and the cage that they would run in."""

import sys
from collections.abc import Mapping
from pathlib import Path

from assay.cage.run import Command, Limits, run_caged
from assay.cli.doctor.check import Check, ill, odd, well
from assay.cli.scan_node import HOW_TO_INSTALL, are_tools_there, tools_folder
from assay.settings import Settings

NAME = "deep scans"
SECONDS = 30
# Past the virtual environment, which the cage does not let anybody read.
PYTHON = str(Path(sys.executable).resolve())


async def check_deep_scans(settings: Settings) -> Check:
    """Whether a node on this machine could do what the settings ask for, and keep its tools caged."""
    if not settings.deep_scan_tools:
        return well(NAME, "turned off")
    if not are_tools_there(settings):
        advice = f"{HOW_TO_INSTALL}, here or on another machine."
        return odd(NAME, f"no scan tools in {tools_folder(settings)}", advice)
    nothing = Command([PYTHON, "-I", "-c", ""], Path("/"))
    ended = await run_caged(nothing, Limits(wall_seconds=SECONDS))
    if not ended.was_caged:
        advice = "Let the process make user namespaces, or use seccomp; see docs/deepscan.md."
        return ill(NAME, f"this machine cannot keep tools off the network: {_told(ended.refused)}", advice)
    if ended.refused:
        advice = "The other means hold; allow these to have all of them."
        return odd(NAME, f"the kernel refuses part of the cage: {_told(ended.refused)}", advice)
    return well(NAME, f"the tools are in {tools_folder(settings)}, and the cage is whole")


def _told(refused: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {why}" for name, why in refused.items())
