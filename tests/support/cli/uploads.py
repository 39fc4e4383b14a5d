"""Archives that a scripted registry received."""

import io
import tarfile

from tests.support.cli.scripted import Script, ScriptedRequest

UPLOAD = "/api/v1/submissions/upload"


def files_sent(script: Script) -> dict[str, dict[str, bytes]]:
    """Return the files of each uploaded skill, by the name of its folder."""
    return dict(map(_unpacked, script.asked_for(UPLOAD)))


def _unpacked(upload: ScriptedRequest) -> tuple[str, dict[str, bytes]]:
    boundary = upload.body.partition(b"\r\n")[0]
    (part,) = [each for each in upload.body.split(boundary) if b'name="archive"' in each]
    content = part.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        files = {each.name: archive.extractfile(each).read() for each in archive.getmembers()}  # type: ignore[union-attr]
    (folder,) = {path.partition("/")[0] for path in files}
    return folder, {path.partition("/")[2]: content for path, content in files.items()}
