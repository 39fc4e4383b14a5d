"""What handlers may ask for: the registry, who is asking, which skill is meant, counters and events of the process."""

from litestar.di import NamedDependency
from litestar.params import SkipValidation

from assay.app.app import App
from assay.model.account import Caller
from assay.serve.feed.hub import Hub
from assay.web.http.traffic import Traffic

Assay = NamedDependency[SkipValidation[App]]
CalledBy = NamedDependency[SkipValidation[Caller]]
Counted = NamedDependency[SkipValidation[Traffic]]
WantedName = NamedDependency[SkipValidation[str]]
Live = NamedDependency[SkipValidation[Hub]]
