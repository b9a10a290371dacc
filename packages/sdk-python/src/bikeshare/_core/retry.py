"""Decides whether a failed request is sent again, and after which delay."""

from __future__ import annotations

import threading

from ..errors import BikeShareError, ConnectionError, TimeoutError

FIRST_DELAY = 0.5
"""Maximum of the first delay, in seconds. Too low: burdens a service that is recovering. Too high: makes a short failure
noticeable."""
MAX_DELAY = 8.0
"""Maximum delay in seconds, unless the service asks for a longer one."""
RETRY_AFTER_JITTER = 0.25
"""Maximum random extra seconds, so that callers that got the same `Retry-After` do not all return at the same instant."""
BUDGET = 20.0
"""Retries that a client may spend in a row. Too low: a short outage fails calls. Too high: prolongs a long outage."""
BUDGET_PER_SUCCESS = 0.1
"""The amount that a success adds to the budget: in the long run one retry for ten successes."""


def is_retryable(error: BikeShareError) -> bool:
    """Tells whether sending the same request again may help. It does not tell whether that is safe."""
    if isinstance(error, (ConnectionError, TimeoutError)):
        return True
    status = error.status or 0
    return status >= 500 or status in (408, 429) or error.code == "idempotency_in_progress"


def retry_delay(attempts: int, retry_after: float | None, random: float) -> float:
    """Returns the seconds to wait before the next attempt.

    They are the service's `Retry-After`, or without it an exponential backoff with full jitter, so that callers that
    failed together do not return together.

    :param attempts: requests sent so far
    :param random: a random number from 0 up to 1
    """
    if retry_after is not None:
        return retry_after + random * RETRY_AFTER_JITTER
    return float(random * min(MAX_DELAY, FIRST_DELAY * 2 ** (attempts - 1)))


class RetryBudget:
    """A token bucket that limits how many retries a client adds to the load of a failing service. It is full at first."""

    def __init__(self) -> None:
        self._tokens = BUDGET
        self._lock = threading.Lock()

    def spend(self) -> bool:
        """Takes a token for one retry. Returns false when there is none."""
        with self._lock:
            if self._tokens < 1:
                return False
            self._tokens -= 1
            return True

    def earn(self) -> None:
        """Adds a part of a token, because a request succeeded."""
        with self._lock:
            self._tokens = min(BUDGET, self._tokens + BUDGET_PER_SUCCESS)
