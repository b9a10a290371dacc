"""Functions that the client calls, such as before each request. An exception that a hook raises ends the call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from ._core.rate_limiter import RateLimit
from .errors import BikeShareError

__all__ = ["Hooks", "RateLimit", "RateLimitDetails", "RequestDetails", "ResponseDetails", "RetryDetails"]


@dataclass(frozen=True)
class RequestDetails:
    """A request, as hooks get it: without the key."""

    operation: str
    """Method and path: `GET /v1/rides/{id}`."""
    method: str
    url: str
    """The full address, with the query."""
    headers: Mapping[str, str]
    """Names in lower case; `authorization`, if a key is needed, is `Bearer [redacted]`."""
    attempt: int
    """The number of the attempt, counted from 1."""


@dataclass(frozen=True)
class ResponseDetails:
    """A response, of a success or of an error."""

    request: RequestDetails
    status: int
    headers: Mapping[str, str]
    request_id: str | None
    """`Request-Id`: give it to the operator when you report a problem."""
    duration: float
    """Seconds from sending to the last byte."""
    rate_limit: RateLimit | None
    """The key's rate limit, as the response reports it."""


@dataclass(frozen=True)
class RetryDetails:
    """A request that is about to be sent again."""

    request: RequestDetails
    """The request that failed."""
    error: BikeShareError
    delay: float
    """Seconds until it is sent again, without the wait for the rate limit."""


@dataclass(frozen=True)
class RateLimitDetails:
    """A request that waits for the rate limit, or was rejected by it."""

    operation: str
    reason: Literal["throttled", "rejected"]
    """`throttled`: the client waits, so that it is not rejected. `rejected`: the service answered 429."""
    wait: float
    """`throttled`: maximum seconds of the wait; a response that comes meanwhile may end it earlier. `rejected`: seconds for
    which the client sends nothing."""


@dataclass(frozen=True)
class Hooks:
    """The hooks of a client: `BikeShare(hooks=Hooks(...))`."""

    on_request: Callable[[RequestDetails], object] | None = None
    """Called before a request is sent, or sent again."""
    on_response: Callable[[ResponseDetails], object] | None = None
    """Called for each response, with any status. When no response comes, `on_retry` or the call itself gets the error."""
    on_retry: Callable[[RetryDetails], object] | None = None
    """Called when a request has failed and will be sent again."""
    on_rate_limit: Callable[[RateLimitDetails], object] | None = None
    """Called when a request waits for the key's rate limit, or was rejected by it."""
