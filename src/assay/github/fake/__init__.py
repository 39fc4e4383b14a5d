"""A faithful GitHub on loopback, for tests and benchmarks; it knows nothing of the rest of assay."""

from assay.github.fake.calls import Call
from assay.github.fake.git_objects import FakeFile
from assay.github.fake.repository import FakeRepository
from assay.github.fake.server import FakeServer, serve
from assay.github.fake.world import FakeGitHub

__all__ = ["Call", "FakeFile", "FakeGitHub", "FakeRepository", "FakeServer", "serve"]
