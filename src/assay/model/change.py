"""Kinds of entries in the change feed."""

from enum import StrEnum


class ChangeKind(StrEnum):
    """The kind of a change. `submission` and `bulk` concern the queue and are not public."""

    SUBMISSION = "submission"
    BULK = "bulk"
    # A new listing with its first version.
    PUBLISH = "publish"
    VERSION = "version"
    # An existing version became current again, or data about the current version changed.
    UPDATE = "update"
    YANK = "yank"
    UNYANK = "unyank"
    DEPRECATE = "deprecate"
    UNDEPRECATE = "undeprecate"
    WITHDRAW = "withdraw"
    TAG = "tag"
    UNLIST = "unlist"
    BLOCK = "block"
    UNBLOCK = "unblock"
    RENAME = "rename"
    TOMBSTONE = "tombstone"
    # A listing became live again.
    RESTORE = "restore"


PUBLIC_KINDS = tuple(kind for kind in ChangeKind if kind not in (ChangeKind.SUBMISSION, ChangeKind.BULK))
