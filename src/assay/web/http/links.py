"""Links to repositories and commits on the hosts they come from."""

from assay.model.repository import GROUP_SEPARATOR, Host, RepositoryName


def repository_url(name: RepositoryName, web_url: str) -> str | None:
    """Return the page of the repository; `web_url` is the address of GitHub. Uploads have none."""
    match name.host:
        case Host.GITHUB:
            return f"{web_url}/{name}"
        case Host.GIT:
            return name.page_url
        case Host.UPLOAD:
            return None


def repository_url_of_key(key: str, web_url: str) -> str:
    """Return the page of a repository given by its `owner/name` key, or the key itself if it has no page."""
    owner, _, name = key.partition("/")
    host = Host.GIT if GROUP_SEPARATOR in owner else Host.GITHUB
    return repository_url(RepositoryName(host, owner, name), web_url) or key


def commit_url(name: RepositoryName, commit: str, web_url: str) -> str | None:
    """Return the page of one commit, in the form that the host uses."""
    url = repository_url(name, web_url)
    if url is None or name.host is Host.GITHUB:
        return f"{url}/tree/{commit}" if url else None
    return f"{url}/commits/{commit}" if name.server == "bitbucket.org" else f"{url}/commit/{commit}"
