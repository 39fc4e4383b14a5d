"""What every handler may ask for: the registry, and the counters of this process."""

from litestar.di import NamedDependency
from litestar.params import SkipValidation

from assay.app import App
from assay.web.traffic import Traffic

Assay = NamedDependency[SkipValidation[App]]
Counted = NamedDependency[SkipValidation[Traffic]]
