"""Which database the settings mean."""

from assay.settings import Settings
from assay.store.database.embedded import Server


def database_url(settings: Settings) -> str:
    """The given database, or the embedded one if it runs."""
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    return embedded_server(settings).url


def embedded_server(settings: Settings) -> Server:
    """The PostgreSQL in the data directory."""
    return Server(settings.data_dir / "postgres")
