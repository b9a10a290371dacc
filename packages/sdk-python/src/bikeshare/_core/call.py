"""A call: waits for the rate limit, sends the request, and sends it again while that may help.

A call is a generator (`Flow`). It yields effects, such as `Send` or `Wait`; the client's driver performs each and sends its
outcome back. `_send_in_turn` waits for the rate limit, `_send_once` makes one attempt, `_delay_after` decides on another.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import Any, cast

from ..errors import (
    ApiError,
    BikeShareError,
    ClientClosedError,
    ConnectionError,
    TimeoutError,
    UnexpectedResponseError,
    UsageError,
    api_error_class,
)
from ..hooks import Hooks, RateLimitDetails, RequestDetails, ResponseDetails, RetryDetails
from ..options import Limits, RequestOptions
from .effects import Failed, Flow, Key, Received, Secret, Send, Wait, Wakeup
from .rate_limiter import RateLimit, RateLimiter
from .request import ApiRequest, build_headers, build_url, encode_body, require_header_value
from .retry import RetryBudget, is_retryable, retry_delay


@dataclass(frozen=True)
class Platform:
    """The functions of the machine that a client uses. Tests pass their own."""

    now: Callable[[], float]
    """Returns the seconds of a clock that never goes back."""
    random: Callable[[], float]
    """Returns a random number from 0 up to 1."""
    new_id: Callable[[], str]


@dataclass
class Closing:
    """Whether a client is closed. A separate object, so that the copies of `with_own_rate_limit` share it."""

    is_closed: bool = False


@dataclass
class Shared:
    """The settings and the state that all calls of a client share."""

    base_url: str
    user_agent: str | None
    limits: Limits
    hooks: Hooks
    platform: Platform
    create_wakeup: Callable[[], Wakeup]
    rate_limiter: RateLimiter
    retry_budget: RetryBudget = field(default_factory=RetryBudget)
    closing: Closing = field(default_factory=Closing)

    @property
    def is_closed(self) -> bool:
        """Tells whether the client is closed."""
        return self.closing.is_closed

    def with_own_rate_limit(self) -> Shared:
        """Returns a copy with a separate rate limit and retry budget, for calls that count towards another limit, such as
        those that control a sandbox.
        """
        limiter = RateLimiter(self.platform.now, self.create_wakeup)
        return replace(self, rate_limiter=limiter, retry_budget=RetryBudget())


@dataclass
class Reply:
    """A successful response."""

    body: dict[str, Any]
    request_id: str | None
    attempts: int


@dataclass
class _Call:
    """A call in progress."""

    shared: Shared
    limits: Limits
    request: ApiRequest
    details: RequestDetails
    content: bytes | None
    """The body in JSON; None: there is none."""
    idempotency_key: str | None
    """None: the endpoint takes none."""
    deadline: float
    """The time at which the call times out, by `Platform.now`."""
    attempts: int = 0
    """Requests sent so far."""
    cause: BikeShareError | None = None
    """Why the last attempt failed; None before the first failure."""

    def left(self) -> float:
        """Returns the seconds until the deadline."""
        return self.deadline - self.shared.platform.now()

    def timeout_error(self, message: str, retry_after: float | None = None) -> TimeoutError:
        error = TimeoutError(
            f"{self.request.route.operation}: {message}",
            attempts=self.attempts,
            idempotency_key=self.idempotency_key,
            retry_after=retry_after,
        )
        error.__cause__ = self.cause
        return error

    def deadline_error(self) -> TimeoutError:
        return self.timeout_error(f"no response within {_seconds(self.limits.total_timeout)}")

    def wait(self, seconds: float, wakeup: Wakeup) -> Flow[None]:
        """Waits, but not beyond the deadline."""
        yield Wait(max(0.0, min(seconds, self.left())), wakeup)
        if self.shared.is_closed:
            raise self.closed_error()
        if self.left() <= 0:
            raise self.deadline_error()

    def closed_error(self) -> ClientClosedError:
        message = f"{self.request.route.operation}: the client is closed"
        return ClientClosedError(message, attempts=self.attempts, idempotency_key=self.idempotency_key)


def call(shared: Shared, request: ApiRequest, options: RequestOptions | None) -> Flow[Reply]:
    """Makes a call.

    :raises BikeShareError: of the last attempt, or `TimeoutError` at the deadline
    """
    limits = shared.limits.with_options(options)
    idempotency_key = _idempotency_key(shared, request, options)
    details = RequestDetails(
        operation=request.route.operation,
        method=request.route.method,
        url=build_url(shared.base_url, request),
        headers=build_headers(request, shared.user_agent, idempotency_key),
        attempt=0,
    )
    deadline = shared.platform.now() + limits.total_timeout
    this = _Call(shared, limits, request, details, encode_body(request), idempotency_key, deadline)
    if shared.is_closed:
        raise this.closed_error()
    while True:
        outcome = yield from _send_in_turn(this)
        if not isinstance(outcome, BikeShareError):
            shared.retry_budget.earn()
            return outcome
        delay = _delay_after(this, outcome)
        this.cause = outcome
        if shared.hooks.on_retry:
            shared.hooks.on_retry(RetryDetails(this.details, outcome, delay))
        if delay > 0:
            yield from this.wait(delay, shared.create_wakeup())


def _idempotency_key(shared: Shared, request: ApiRequest, options: RequestOptions | None) -> str | None:
    """Returns the idempotency key, if the endpoint takes one. A call has one key, which all its attempts send."""
    given = cast("Mapping[str, object]", options or {}).get("idempotency_key")
    if not request.route.is_idempotent:
        if given is not None:
            raise UsageError(f"{request.route.operation} takes no idempotency_key")
        return None
    return require_header_value("idempotency_key", shared.platform.new_id() if given is None else given)


def _send_in_turn(this: _Call) -> Flow[Reply | BikeShareError]:
    """Sends a request as soon as the rate limit allows it."""
    limiter = this.shared.rate_limiter
    # A request to an open endpoint needs no key, so it counts towards no key's limit.
    if this.request.route.is_open:
        return (yield from _send_once(this))
    ticket = limiter.join()
    try:
        while True:
            seconds = limiter.admit(ticket)
            if seconds <= 0:
                break
            # The length of an infinite wait is not known: it ends when the limiter wakes this request.
            if math.isfinite(seconds):
                _announce_wait(this, seconds)
            yield from this.wait(seconds, ticket.wakeup)
    finally:
        limiter.leave(ticket)
    try:
        return (yield from _send_once(this))
    finally:
        limiter.finish()


def _announce_wait(this: _Call, seconds: float) -> None:
    """Calls the hook for a wait for the rate limit.

    :raises TimeoutError: if the wait would end after the deadline
    """
    if seconds >= this.left():
        raise this.timeout_error(f"the rate limit requires a wait of {_seconds(seconds)}", seconds)
    if this.shared.hooks.on_rate_limit:
        this.shared.hooks.on_rate_limit(RateLimitDetails(this.request.route.operation, "throttled", seconds))


def _delay_after(this: _Call, error: BikeShareError) -> float:
    """Returns the seconds to wait after a failed attempt.

    :raises BikeShareError: the error of the attempt, when there is no further attempt
    """
    shared = this.shared
    delay = retry_delay(this.attempts, error.retry_after, shared.platform.random())
    is_rejected = error.status == 429
    if is_rejected:
        shared.rate_limiter.pause(delay)
        if shared.hooks.on_rate_limit:
            shared.hooks.on_rate_limit(RateLimitDetails(this.request.route.operation, "rejected", delay))
    # If the delay would end after the deadline, the error is raised now.
    if this.attempts > this.limits.max_retries or not is_retryable(error) or delay >= this.left():
        raise error
    # A 429 means that nothing was done, and it costs the service almost nothing. So its retry is safe and takes no token.
    # After any other failure, a request with `is_once` could have its effect twice.
    if not is_rejected and (this.request.route.is_once or not shared.retry_budget.spend()):
        raise error
    return delay


def _send_once(this: _Call) -> Flow[Reply | BikeShareError]:
    """Sends a request and reads its response. Failures of the network and of the service are returned, not raised."""
    shared = this.shared
    key = "" if this.request.route.is_open else require_header_value("api_key", cast(Secret, (yield Key())).value)
    # A function that returns the key takes time, in which the client may be closed.
    if shared.is_closed:
        raise this.closed_error()
    left = this.left()
    if left <= 0:
        raise this.deadline_error()
    this.attempts += 1
    this.details = replace(this.details, attempt=this.attempts)
    if shared.hooks.on_request:
        shared.hooks.on_request(this.details)
    headers = dict(this.details.headers)
    if key:
        headers["authorization"] = f"Bearer {key}"
    started = shared.platform.now()
    seconds = min(this.limits.timeout, left)
    answer = yield Send(this.details.method, this.details.url, headers, this.content, seconds)
    # The headers contain the key. Some tools record the variables of a traceback's frames.
    del headers
    if shared.is_closed:
        raise this.closed_error()
    if isinstance(answer, Received):
        return _read(this, answer, shared.platform.now() - started, _redactor(key))
    failed = cast(Failed, answer)
    if failed.is_timeout:
        # The request had less than its usual timeout, because the call's deadline came first.
        if seconds < this.limits.timeout or this.left() <= 0:
            raise this.deadline_error()
        return this.timeout_error(f"no response within {_seconds(seconds)}")
    message = f"{this.details.operation}: no response: {_redactor(key)(failed.message)}"
    return ConnectionError(message, attempts=this.attempts, idempotency_key=this.idempotency_key)


def _redactor(key: str) -> Callable[[str], str]:
    """Returns a function that removes the key from a text. An empty key: nothing is removed."""
    return lambda text: text.replace(key, "[redacted]") if key else text


def _read(this: _Call, response: Received, duration: float, redact: Callable[[str], str]) -> Reply | BikeShareError:
    """Reads a response. Every response that is not a success of the service itself is an error.

    :param redact: removes the key from an error's message. It is not applied to data, in which the short key of a test
        may occur by chance
    """
    shared, status, headers = this.shared, response.status, response.headers
    rate_limit = read_rate_limit(headers)
    if rate_limit and not this.request.route.is_open:
        shared.rate_limiter.update(rate_limit)
    request_id = headers.get("request-id")
    if shared.hooks.on_response:
        shared.hooks.on_response(ResponseDetails(this.details, status, headers, request_id, duration, rate_limit))
    body = parse_object(response.body)
    if status >= 400:
        return _api_error(this, response, body, redact)
    issue = None
    if status >= 300:
        issue = "a redirect"
    elif status != this.request.route.success:
        issue = f"status {status}"
    elif body is None:
        issue = "not JSON (a proxy?)"
    if issue is None and body is not None:
        return Reply(body, request_id, this.attempts)
    return UnexpectedResponseError(
        f"{this.details.operation}: unexpected response: {issue}",
        attempts=this.attempts,
        status=status,
        request_id=request_id,
        idempotency_key=this.idempotency_key,
    )


def _api_error(
    this: _Call, response: Received, body: dict[str, Any] | None, redact: Callable[[str], str]
) -> ApiError:
    # A proxy's response may be anything, so each field is checked.
    given, message = (body or {}).get("error"), (body or {}).get("message")
    # A code has no digits, so a key cannot pass for a code.
    code = given if isinstance(given, str) and re.fullmatch("[a-z_]+", given) else None
    status = response.status
    text = f"{status} {code}: {redact(str(message))}" if code else f"{status} without an error code (a proxy?)"
    return api_error_class(status, code)(
        text,
        attempts=this.attempts,
        status=status,
        code=code,
        request_id=response.headers.get("request-id"),
        retry_after=read_retry_after(response.headers),
        idempotency_key=this.idempotency_key,
    )


def parse_object(body: bytes) -> dict[str, Any] | None:
    """Returns the object in a JSON text; None for any other text."""
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


# Matches both headers with a space between them: `"default";r=59;t=12 "default";q=60;w=60` (remaining, reset, limit,
# window).
_RATE_LIMIT = re.compile(r"r=(\d{1,15}); *t=(\d{1,15}).*q=(\d{1,15}); *w=(\d{1,15})", re.ASCII)


def read_rate_limit(headers: Mapping[str, str]) -> RateLimit | None:
    """Parses the headers `RateLimit` and `RateLimit-Policy`; None if they are absent or have another form."""
    match = _RATE_LIMIT.search(f"{headers.get('ratelimit')} {headers.get('ratelimit-policy')}")
    if match is None:
        return None
    remaining, reset, limit, window = map(int, match.groups())
    return RateLimit(limit, float(window), remaining, float(reset)) if limit > 0 else None


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Parses `Retry-After`, which has seconds or a date. Returns seconds; None if it is absent, invalid or past."""
    text = headers.get("retry-after", "")
    if re.fullmatch(r"\d{1,15}(?:\.\d{1,15})?", text, re.ASCII):
        return float(text)
    try:
        # The date is compared with the response's `Date` header, because the clock of this machine may be wrong.
        seconds = (parsedate_to_datetime(text) - parsedate_to_datetime(headers.get("date", ""))).total_seconds()
    except (TypeError, ValueError, IndexError):
        return None
    return seconds if seconds >= 0 else None


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}".rstrip("0").rstrip(".") + " s"
