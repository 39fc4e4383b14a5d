"""Keys of all advisory locks. `store/README.md` describes the locking order."""

from zlib import crc32

MIGRATION = 20_260_101
CHANGE_NUMBERING = 20_260_102
QUEUE_PAUSE = 20_260_103
# Shared by transactions that publish, exclusive for those that change the blocklist.
BLOCKLIST = 20_261_116
# Key spaces: the second key is `lock_key` of a name or, for repositories, the id at the host.
PERIODIC_JOBS = 20_260_104
EDGE_COPIES = 20_261_117
EDGE_REBUILDS = 20_261_118
REPOSITORIES = 20_261_119
UPLOADS = 20_261_120
INSTALLS = 20_261_121


def lock_key(name: str) -> int:
    """Return a signed 32-bit number for a name, as the second key of an advisory lock."""
    number = crc32(name.encode())
    return number - (1 << 32) if number >> 31 else number
