"""Decides when requests may be sent, so that a client keeps to its key's rate limit."""

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
    """Maximum requests in any window."""
    window: float
    """Length of the window in seconds."""
    remaining: int
    """Requests left in the present window."""
    reset: float
    """Seconds until the oldest counted request leaves the window."""


class Ticket:
    """A request's place in the queue."""

    def __init__(self, wakeup: Wakeup) -> None:
        self.wakeup = wakeup
        """It is set to end a wait early, because `admit` may return less now."""


class RateLimiter:
    """Admits requests in the order of the calls, as fast as the rate limit allows. All requests of a client share it.

    The service counts a request from its arrival, for one window. The client does not know the time of arrival, so it
    counts a request from its start until one window after its response, which is never too short. When a response reports
    fewer requests left than this client's own requests explain, other clients use the same key. The limiter then counts
    their requests too, until the next response.

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
        # The times at which answered requests leave the window, soonest first.
        self._releases: deque[float] = deque()
        # Requests of other clients.
        self._used_by_others = 0
        # The time at which the oldest counted request leaves the window, by the last response.
        self._reset_at = 0.0
        # The end of the pause that `pause` began.
        self._paused_until = 0.0

    def join(self) -> Ticket:
        """Returns a ticket at the end of the queue. Call `leave` with it at the end, also after an exception."""
        with self._lock:
            ticket = Ticket(self._create_wakeup())
            self._queue.append(ticket)
            return ticket

    def admit(self, ticket: Ticket) -> float:
        """Admits a request if its turn has come, and returns 0.

        Otherwise returns the maximum seconds to wait; infinity: until `wakeup` is set. Call it again when the seconds are
        over, or when the ticket's `wakeup` is set.
        """
        with self._lock:
            # Each wait needs a new event, because the ticket's last one may be set already.
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
        """Removes a ticket from the queue, unless it was admitted."""
        with self._lock:
            if ticket in self._queue:
                self._queue.remove(ticket)
                self._wake_first()

    def finish(self) -> None:
        """Ends an admitted request, because it was answered or has failed."""
        with self._lock:
            self._in_flight -= 1
            self._releases.append(self._now() + self._window)
            self._wake_first()

    def update(self, reported: RateLimit) -> None:
        """Takes over the rate limit that a response reports. Call it before `finish`."""
        with self._lock:
            self._limit, self._window = reported.limit, reported.window
            own = self._in_flight + len(self._releases)
            self._used_by_others = max(0, self._limit - own - reported.remaining)
            self._reset_at = self._now() + reported.reset

    def pause(self, seconds: float) -> None:
        """Admits no request for some seconds, because the service rejected one."""
        with self._lock:
            self._paused_until = max(self._paused_until, self._now() + seconds)

    def _next_send_time(self) -> float:
        """Returns when the next request may be sent; infinity: only the next response will tell."""
        while self._releases and self._releases[0] <= self._now():
            self._releases.popleft()
        own = self._in_flight + len(self._releases)
        if own + self._used_by_others < self._limit:
            return self._paused_until
        # Other clients use up the limit. When a request must have left the window, a single one is sent to find out more.
        probe_at = self._reset_at if own < self._limit and self._in_flight == 0 else math.inf
        release_at = self._releases[0] if self._releases else math.inf
        return max(self._paused_until, min(release_at, probe_at))

    def _wake_first(self) -> None:
        if self._queue:
            self._queue[0].wakeup.set()
