"""The options of a client and of a single call."""

from __future__ import annotations

import math
from typing import TypedDict

from .errors import UsageError

__all__ = ["IdempotentRequestOptions", "RequestOptions"]


class RequestOptions(TypedDict, total=False):
    """How long and how often a call is tried."""

    timeout: float | None
    """Seconds for one request with its whole response. Default 30. In threads, resolving the host's name does not count;
    with your own `httpx.Client`, each read has this time. Too low: slow networks fail. Too high: a hanging connection is
    noticed late."""
    total_timeout: float | None
    """Seconds that a call may take in total: waits for the rate limit, requests and the delays between them. In a list,
    each page is a call. Default 300, so that a call can wait for its turn when many calls share a limit of 60 a minute.
    `math.inf` accepts any `Retry-After`."""
    max_retries: int | None
    """How often a failed or rate-limited request is sent again. Default 4; 0: never. A request that takes
    an idempotency key is sent again with the same one."""


class IdempotentRequestOptions(RequestOptions, total=False):
    """The options of a call that takes an idempotency key."""

    idempotency_key: str | None
    """1 to 255 visible ASCII characters that identify one change, so that the service carries it out once even if it is
    requested several times. Default: a new key for each call, and the same for its retries. Pass your own key to be able
    to repeat a change after a restart of your program."""


class Limits:
    """The checked values of `RequestOptions`: how long and how often calls are tried."""

    def __init__(self, timeout: float | None, total_timeout: float | None, max_retries: int | None) -> None:
        self.timeout = 30.0 if timeout is None else timeout
        self.total_timeout = 300.0 if total_timeout is None else total_timeout
        self.max_retries = 4 if max_retries is None else max_retries
        for name, value in (("timeout", self.timeout), ("total_timeout", self.total_timeout)):
            if not _is_number(value) or value <= 0:
                raise UsageError(f"{name} must be above 0")
        if not _is_number(self.max_retries) or self.max_retries < 0:
            raise UsageError("max_retries must be 0 or more")

    def with_options(self, options: RequestOptions | None) -> Limits:
        """Returns the limits of a call, with its own options.

        :raises UsageError: that names the wrong option
        """
        if not options:
            return self
        # Unknown options are rejected. Otherwise a misspelt option would be ignored in a program without types.
        unknown = sorted(set(options) - {*IdempotentRequestOptions.__annotations__, *RequestOptions.__annotations__})
        if unknown:
            raise UsageError(f"unknown option {unknown[0]}")
        timeout, total, retries = options.get("timeout"), options.get("total_timeout"), options.get("max_retries")
        return Limits(
            self.timeout if timeout is None else timeout,
            self.total_timeout if total is None else total,
            self.max_retries if retries is None else retries,
        )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)
