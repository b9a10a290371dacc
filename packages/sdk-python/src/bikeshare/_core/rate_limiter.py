"""How many requests may be sent, and when."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from .._generated.routes import RATE_LIMIT, RATE_WINDOW_SECONDS
from .effects import Wakeup


@dataclass(frozen=True)
class RateLimit:
    """The state of a key's rate limit, as a response reports it."""

    limit: int
    """Requests in any window."""
    window: float
    """Seconds of a window."""
    remaining: int
    """Requests left."""
    reset: float
    """Seconds until the next request is given back."""


class Ticket:
    """A request's place in the queue."""

    def __init__(self, wakeup: Wakeup) -> None:
        self.wakeup = wakeup
        """Is set when the request may perhaps be sent earlier than was said."""


class RateLimiter:
    """Admits requests in the order of the calls, as many as the rate limit allows. One for all requests of a client.

    The service counts a request on arrival and gives it back one window later. It arrived between being sent and being
    answered, so counting each from its start until a window after its response never lets too many through. Where the
    responses report fewer left than this client used, others use the same key; their share is assumed until the next
    response.

    Threads may share it.
    """

    def __init__(self, now: Callable[[], float], create_wakeup: Callable[[], Wakeup]) -> None:
        self._now = now
        self._create_wakeup = create_wakeup
        self._lock = threading.Lock()
        self._queue: deque[Ticket] = deque()
        self._limit = RATE_LIMIT
        self._window: float = RATE_WINDOW_SECONDS
        self._in_flight = 0
        # When each answered request leaves the window, soonest first.
        self._releases: deque[float] = deque()
        # Requests that others used, and when the first of all that are used is given back.
        self._used_by_others = 0
        self._reset_at = 0.0
        self._paused_until = 0.0

    def join(self) -> Ticket:
        """Returns a place at the end of the queue. Follow it with `leave`, whatever happens."""
        with self._lock:
            ticket = Ticket(self._create_wakeup())
            self._queue.append(ticket)
            return ticket

    def admit(self, ticket: Ticket) -> float:
        """Admits a request when its turn has come: then returns 0.

        Otherwise returns the most seconds to wait, infinity where only the request before it can tell. When the ticket's
        `wakeup` is set, or when they are over, ask again.
        """
        with self._lock:
            if self._queue[0] is not ticket:
                ticket.wakeup = self._create_wakeup()
                return math.inf
            seconds = self._next_send_time() - self._now()
            if seconds > 0:
                ticket.wakeup = self._create_wakeup()
                return seconds
            self._queue.popleft()
            self._in_flight += 1
            self._wake_first()
            return 0.0

    def leave(self, ticket: Ticket) -> None:
        """Gives up a place in the queue that was not used."""
        with self._lock:
            if ticket in self._queue:
                self._queue.remove(ticket)
                self._wake_first()

    def finish(self) -> None:
        """Ends an admitted request: it has been answered, or never will be."""
        with self._lock:
            self._in_flight -= 1
            self._releases.append(self._now() + self._window)
            self._wake_first()

    def update(self, reported: RateLimit) -> None:
        """Takes over what a response reports. Call it before `finish`."""
        with self._lock:
            self._limit, self._window = reported.limit, reported.window
            own = self._in_flight + len(self._releases)
            self._used_by_others = max(0, self._limit - own - reported.remaining)
            self._reset_at = self._now() + reported.reset

    def pause(self, seconds: float) -> None:
        """Admits nothing for some seconds: the service rejected a request."""
        with self._lock:
            self._paused_until = max(self._paused_until, self._now() + seconds)

    def _next_send_time(self) -> float:
        """When a request may be sent: infinity where only a response can tell."""
        while self._releases and self._releases[0] <= self._now():
            self._releases.popleft()
        own = self._in_flight + len(self._releases)
        if own + self._used_by_others < self._limit:
            return self._paused_until
        # Others use the limit too. Once a request must have been given back, a single one is sent to find out.
        probe_at = self._reset_at if own < self._limit and self._in_flight == 0 else math.inf
        release_at = self._releases[0] if self._releases else math.inf
        return max(self._paused_until, min(release_at, probe_at))

    def _wake_first(self) -> None:
        if self._queue:
            self._queue[0].wakeup.set()
