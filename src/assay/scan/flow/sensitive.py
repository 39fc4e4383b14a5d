"""Sensitive names: files with secrets, files that are executed or loaded later, and variables that hold tokens."""

import re

from assay.scan.flow.taint import HOLE, NAMED, Taint, TaintOrigin

_END = r"(?=$|[/\s'\")\]*,;:|])"

# Each of these gives access to a machine, an account or a wallet, or reveals personal data.
_SECRET_PATHS = re.compile(
    r"(?:^|[/~@=\s'\"" + HOLE + NAMED + r"])(?:"
    r"\.ssh(?:/\*|/?$|/(?!known_hosts|config\b|authorized_keys)[^/\s]*(?<!\.pub)$)"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)(?!\.pub)" + _END + r"|\.aws(?:/credentials|/?$|/\*)|\.netrc" + _END + r"|_netrc$"
    r"|\.git-credentials|\.pgpass|\.my\.cnf|\.gnupg(?:/\S*|$)|\S*\.(?:tfstate|p12|pfx|kdbx)$"
    r"|\.config/solana/id\.json|\.ethereum/keystore\S*|\.electrum\S*|\.bitcoin(?:/\S*|$)|\.exodus\S*|Exodus/\S*"
    r"|wallet\.dat|nkbihfbeogaeaoehlefnkodbefgpgknn\S*"
    r"|Login Data|Cookies$|cookies\.sqlite|logins\.json|key[34]\.db|Local State$|Web Data$"
    r"|(?:Library/)?Keychains\S*|login\.keychain\S*|keyrings/\S*"
    r"|\.(?:bash|zsh|sh|python|node_repl|mysql|psql|sqlite)_history|fish_history|ConsoleHost_history\.txt"
    r"|etc/(?:shadow|passwd|sudoers)" + _END + r"|proc/(?:self|\d+|\*)/environ"
    r"|(?:var/)?run/secrets/kubernetes\.io\S*)",
    re.IGNORECASE,
)
# Configuration of programs. Using one value of it as a login is ordinary, sending all of it is not.
_SETTINGS_PATHS = re.compile(
    r"(?:^|[/~@=\s'\"" + HOLE + NAMED + r"])(?:"
    r"\.env(?:\.(?:local|prod|production|dev|development|staging|test))?$"
    r"|\.npmrc$|\.pypirc|\.vault-token|\.kube(?:/config|/?$)"
    r"|(?:\.config/)?gcloud(?:/(?:credentials|access_tokens|legacy_credentials|application_default)[^\s]*|/?$)"
    r"|application_default_credentials\.json|\.azure(?:/\S*|$)|\.docker/config\.json"
    r"|\.config/gh/hosts\.yml|\.config/rclone/\S*|\.terraform\.d/credentials\S*|\.cargo/credentials\S*"
    r"|\.(?:openclaw|clawdbot|moltbot)(?:/(?:\w*\.json|\.env|credentials|identity|devices|agents|memory)[^\s]*|/?\*?$)"
    r"|\.(?:openclaw|clawdbot|moltbot)/workspace(?:/(?:SOUL|MEMORY|USER|IDENTITY|TOOLS|AGENTS)\.md|/memory\S*|/?\*?$)"
    r"|\.claude(?:\.json|/(?:settings(?:\.local)?\.json|\.?credentials\.json|projects|history)[^\s]*|/?$)"
    r"|\.codex/auth\.json|\.gemini/oauth_creds\.json|claude_desktop_config\.json|\.cursor/mcp\.json"
    r"|(?:SOUL|IDENTITY)\.md$)"
)
_PERSISTENT_PATHS = re.compile(
    r"(?:^|[/~\s'\"" + HOLE + NAMED + r"])(?:"
    r"(?P<startup>\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zprofile|zshenv|zlogin)$"
    r"|etc/(?:profile|bash\.bashrc|zshrc|rc\.local|ld\.so\.preload|environment)(?:\.d/\S+)?$"
    r"|fish/(?:config\.fish|conf\.d/\S+)$|Microsoft\.PowerShell_profile\.ps1)"
    r"|(?P<schedule>etc/cron[^/\s]*(?:/\S*)?$|var/spool/cron\S*"
    r"|Library/Launch(?:Agents|Daemons)/\S*|LaunchAgents/\S+\.plist"
    r"|systemd/(?:system|user)/\S+\.(?:service|timer)|\.config/autostart/\S+"
    r"|Start Menu/Programs/Startup\S*)"
    r"|(?P<login>\.ssh/authorized_keys2?|etc/sudoers(?:\.d/\S+)?|authorized_keys$)"
    r"|(?P<hook>\.git/hooks/\S+|site-packages/\S+\.pth|sitecustomize\.py|usercustomize\.py)"
    r"|(?P<agent>(?:CLAUDE|AGENTS|SOUL|GEMINI|HEARTBEAT|IDENTITY)\.md$|(?:^|/)MEMORY\.md$"
    r"|\.cursor/(?:rules(?:/\S+)?|mcp\.json)$|\.cursorrules$|\.windsurfrules$|copilot-instructions\.md$"
    r"|\.claude/(?:settings(?:\.local)?\.json|hooks/\S+|agents/\S+|commands/\S+)$|\.claude\.json$"
    r"|\.?mcp\.json$|claude_desktop_config\.json$))"
)
_PERSONAL_FILES = re.compile(r"^(?:~|/home/[^/]+|/Users/[^/]+)/(?:Documents|Desktop|Pictures|Downloads)/\S*\*\S*$")
_RUN_KEY = re.compile(r"CurrentVersion\\+Run", re.IGNORECASE)

_TOKEN_NAME = re.compile(
    r"(?:^|_)(?:API_?KEYS?|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|MNEMONIC|PAT)(?:_ID)?$",
    re.IGNORECASE,
)
_OWN_ADDRESS = re.compile(
    r"^(?:\w+://)?(?:[^/@]*@)?(?:localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[?::1\]?|host\.docker\.internal)(?:[:/?#]|$)",
    re.IGNORECASE,
)
_METADATA_ADDRESS = re.compile(r"169\.254\.169\.254|metadata\.google\.internal|fd00:ec2::254", re.IGNORECASE)
_URL = re.compile(r"(?:https?|ftp|wss?)://[^\s'\"<>|;)]+|/dev/(?:tcp|udp)/[^\s'\"]+", re.IGNORECASE)

# Ordinary content of start-up files: search paths, variables and completions.
_ORDINARY_STARTUP_LINE = re.compile(
    r"^\s*(?:#.*|export\s+(?!LD_|DYLD_|PROMPT_COMMAND|BASH_ENV|ENV=|HTTPS?_PROXY|NODE_OPTIONS|PYTHONSTARTUP)\w+=[^`;&|]*"
    r"|(?:PATH|FPATH)=[^`;&|]*|(?:autoload|compinit|fpath|setopt|bindkey|plugins)\b[^`;&|]*"
    r"|eval\s+[\"']?\$\([\w./ ~-]+\)[\"']?|(?:source|\.)\s+(?:<\([\w ./-]+\)|[\"']?[^\s;&|`]+[\"']?)"
    r"|(?:set|fish_add_path)\s[^`;&|]*|\[\s.*\]\s*&&\s*(?:\\?\.|source|export)\s[^`;&|]*)?\s*$"
)


def name_set(names: str) -> frozenset[str]:
    """Split a list of names."""
    return frozenset(names.split())


def secret_of_path(path: str, line: int) -> Taint | None:
    """Return the taint of this file's content if it holds secrets."""
    path = path.replace("\\", "/")[:400]
    if match := _SECRET_PATHS.search(path):
        return Taint(line, TaintOrigin.SECRET, _path_shown(path, match.start()))
    if match := _SETTINGS_PATHS.search(path):
        return Taint(line, TaintOrigin.SETTINGS, _path_shown(path, match.start()))
    return None


def personal_files(path: str, line: int) -> Taint | None:
    """Return the taint of a wildcard that covers a person's folders, rather than one file."""
    match = _PERSONAL_FILES.match(path.replace("\\", "/")[:400])
    return Taint(line, TaintOrigin.HOST, match[0]) if match else None


def persistence_kind(path: str) -> str:
    """Return the kind of persistence of a path: startup, schedule, login, hook or agent; empty if there is none."""
    path = path.replace("\\\\", "\\")[:400]
    if _RUN_KEY.search(path):
        return "schedule"
    match = _PERSISTENT_PATHS.search(path.replace("\\", "/"))
    return match.lastgroup or "" if match else ""


def is_ordinary_startup(text: str) -> bool:
    """Return true if every line only sets a variable, a search path or a completion."""
    return len(text) < 2000 and all(_ORDINARY_STARTUP_LINE.match(line) for line in text.splitlines())


def is_token_name(name: str) -> bool:
    """Return true if a variable of this name holds a credential."""
    return len(name) < 100 and _TOKEN_NAME.search(name) is not None and not name.upper().startswith("PUBLIC")


def is_own_address(url: str) -> bool:
    """Return true for an address of the machine itself, to which nothing is sent out."""
    return _OWN_ADDRESS.match(url) is not None


def is_metadata_address(url: str) -> bool:
    """Return true for an address that returns the credentials of a cloud machine."""
    return _METADATA_ADDRESS.search(url) is not None


def find_url(text: str) -> str:
    """Return the first URL in a text, or an empty string."""
    match = _URL.search(text)
    return match.group(0) if match else ""


def _path_shown(path: str, start: int) -> str:
    """Return the path around the match, without the text before it."""
    begin = max(path.rfind(mark, 0, start + 1) for mark in " '\"=@") + 1
    return path[begin:].split("\n", maxsplit=1)[0].strip("'\" ") or path
