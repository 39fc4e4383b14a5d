"""What every handler may ask for: the registry, and the counters of this process."""

from typing import Annotated

from litestar.params import Dependency

from assay.app import App
from assay.web.traffic import Traffic

Assay = Annotated[App, Dependency(skip_validation=True)]
Counted = Annotated[Traffic, Dependency(skip_validation=True)]
