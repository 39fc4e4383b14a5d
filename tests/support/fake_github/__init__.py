"""A fake GitHub on loopback for tests and benchmarks; it does not import Assay."""

from tests.support.fake_github.calls import Call
from tests.support.fake_github.git_objects import FakeFile
from tests.support.fake_github.repository import FakeRepository
from tests.support.fake_github.server import FakeServer, serve
from tests.support.fake_github.world import FakeGitHub

__all__ = ["Call", "FakeFile", "FakeGitHub", "FakeRepository", "FakeServer", "serve"]
