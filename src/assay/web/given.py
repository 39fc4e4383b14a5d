"""What every handler may ask for: the registry, who is asking, and the counters and live events of this process."""

from litestar.di import NamedDependency
from litestar.params import SkipValidation

from assay.app.opened import App
from assay.model.account import Caller
from assay.serve.live import Hub
from assay.web.traffic import Traffic

Assay = NamedDependency[SkipValidation[App]]
CalledBy = NamedDependency[SkipValidation[Caller]]
Counted = NamedDependency[SkipValidation[Traffic]]
Live = NamedDependency[SkipValidation[Hub]]
