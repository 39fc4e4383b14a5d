"""TruffleHog from PATH, replaced by a program with the same output."""

from pathlib import Path

import aiohttp
import pytest

from assay.deepscan.install import default_folder
from assay.deepscan.tools.installed import find_tools
from assay.model.deep_scan import DeepTool
from assay.settings import Settings
from tests.support.deepscan.deliveries import publish
from tests.support.deepscan.served import Served
from tests.support.deepscan.tokens import TOKEN
from tests.support.fake_github import FakeGitHub
from tests.support.registry import open_registry
from tests.support.streams import serving

pytestmark = pytest.mark.process

# Output of version 3.90: one JSON line per secret, and its log on standard error.
PROGRAM = r"""#!/bin/sh
if [ "$1" = --version ]; then echo "trufflehog 3.90.1" >&2; exit 0; fi
[ "$*" = "filesystem --json --no-verification --no-update --no-color ." ] || exit 2
echo '{"level":"info-0","logger":"trufflehog","msg":"running source"}' >&2
/usr/bin/grep -rnoE 'ghp_[A-Za-z0-9]{36}|BEGIN RSA PRIVATE KEY' . | /usr/bin/sed -E 's@^([^:]+):([0-9]+):(.*)$@{\
"SourceMetadata":{"Data":{"Filesystem":{"file":"\1","line":\2}}},"SourceID":1,"SourceType":15,\
"SourceName":"trufflehog - filesystem","DetectorType":8,"DetectorName":"Github","DecoderName":"PLAIN",\
"Verified":false,"VerificationFromCache":false,"Raw":"\3","RawV2":"","Redacted":"","ExtraData":null,\
"StructuredData":null}@' | /usr/bin/tr -d '\n' | /usr/bin/sed 's@}{@}\n{@g'
"""


async def test_trufflehog_end_to_end(settings: Settings, github: FakeGitHub, tmp_path: Path) -> None:
    """G48: in the cage, from dispatch to page, without storing the secret."""
    program = tmp_path / "bin" / "trufflehog"
    program.parent.mkdir()
    program.write_text(PROGRAM)
    program.chmod(0o755)
    found = find_tools(default_folder(), jobs=1, path=str(program.parent))
    [tool] = [each for each in found if each.name is DeepTool.TRUFFLEHOG]
    wanted = settings.model_copy(update={"deep_scan_tools": (DeepTool.TRUFFLEHOG,)})
    async with (
        open_registry(wanted, github) as registry,
        serving(registry.app) as url,
        aiohttp.ClientSession() as session,
    ):
        await publish(registry, **{"deploy.sh": f"#!/bin/sh\ntoken={TOKEN}\n"})
        node = Served(registry, url, session).node(tool)
        await node.check_tools()
        assert await node.work_once()
        answer = await registry.client.get("/api/v1/skills/acme/tools/greet")
        [scan] = answer.json()["deepScans"]
        assert (scan["status"], scan["toolVersion"]) == ("findings", "3.90.1")
        [finding] = scan["findings"]
        assert (finding["ruleId"], finding["file"], finding["line"]) == ("trufflehog.Github", "deploy.sh", 2)
        page = await registry.client.get("/skills/acme/tools/greet", headers={"Accept": "text/html"})
        assert "trufflehog.Github" in page.text
        assert TOKEN not in str(scan)
