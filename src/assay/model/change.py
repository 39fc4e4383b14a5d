"""What can happen to the catalogue: the kinds of entries of the change feed."""

from enum import StrEnum


class ChangeKind(StrEnum):
    """One kind of change. The first two are the queue's own, and not public."""

    SUBMISSION = "submission"
    BULK = "bulk"
    # A skill is listed, with its first version.
    PUBLISH = "publish"
    VERSION = "version"
    # A version that existed is the live one again, or what is said of the live one has changed.
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
    # A listing that was not live is live again.
    RESTORE = "restore"


PUBLIC_KINDS = tuple(kind for kind in ChangeKind if kind not in (ChangeKind.SUBMISSION, ChangeKind.BULK))
