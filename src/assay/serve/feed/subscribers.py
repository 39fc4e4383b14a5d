"""All who listen to this process. Nothing here waits, so nothing can come between what is kept and what is told."""

from dataclasses import dataclass, field

from assay.serve.feed.replay_buffer import Entry, Ring
from assay.serve.feed.subscriber import Listener, Patience, Tally


@dataclass(frozen=True)
class AudienceOptions:
    """How many may listen, how long we are patient with each of them, and how many events are kept for replay."""

    listeners: int = 5_000
    patience: Patience = field(default_factory=Patience)
    kept: int = 5_000


class Audience:
    """The listeners by topic, and the ring that those who come back are served from."""

    def __init__(self, options: AudienceOptions) -> None:
        self.options, self.tally = options, Tally()
        self.ring = Ring(options.kept)
        self._listeners: set[Listener] = set()
        self._by_topic: dict[str, set[Listener]] = {}

    def __len__(self) -> int:
        return len(self._listeners)

    @property
    def is_full(self) -> bool:
        """Whether nobody more may come."""
        return len(self._listeners) >= self.options.listeners

    def admit(self, topic: str, after: int | None) -> Listener:
        """From this moment nothing escapes the new listener; what it has missed since `after` waits for it already.

        If not all of that is kept, it has `lost_track` and starts from now.
        """
        ring = self.ring
        lost_track = after is not None and not ring.covers(after)
        start = ring.newest if after is None or lost_track else after
        listener = Listener(topic, start, ring.after(start, topic), self.options.patience, self.tally)
        listener.lost_track = lost_track
        self._listeners.add(listener)
        self._by_topic.setdefault(topic, set()).add(listener)
        return listener

    def dismiss(self, listener: Listener) -> bool:
        """Tell it nothing any more; False if that was so already."""
        if listener not in self._listeners:
            return False
        self._listeners.discard(listener)
        peers = self._by_topic[listener.topic]
        peers.discard(listener)
        if not peers:
            del self._by_topic[listener.topic]
        return True

    def drop(self, listener: Listener) -> None:
        """Cut off somebody who does not keep up."""
        if self.dismiss(listener):
            self.tally.listeners_dropped += 1
        listener.end()

    def tell(self, entry: Entry) -> None:
        """Keep it, and put it into the queue of everybody whom it concerns."""
        self.ring.append(entry)
        slow = [
            listener
            for topic in entry.topics
            for listener in self._by_topic.get(topic, ())
            if not listener.offer(entry)
        ]
        for listener in slow:
            self.drop(listener)

    def end(self) -> None:
        """Send everybody home."""
        for listener in self._listeners:
            listener.end()
        self._listeners.clear()
        self._by_topic.clear()
