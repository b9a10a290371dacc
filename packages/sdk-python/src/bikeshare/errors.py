"""The errors of this package. No error contains the key."""

from __future__ import annotations


class BikeShareError(Exception):
    """The base class of all errors of this package except `WebhookVerificationError`."""

    attempts: int
    """How many requests were sent; 0 when the error was found before."""
    status: int | None
    """The response's HTTP status; None if there was no response."""
    code: str | None
    """The service's error code. It may be newer than this package, because codes are added over time."""
    request_id: str | None
    """The response's `Request-Id`: give it to the operator when you report a problem."""
    retry_after: float | None
    """Seconds after which the service or the key's rate limit allows another attempt."""
    idempotency_key: str | None
    """The idempotency key of a call that takes one. Pass it to a new call to repeat the change without doing it twice."""

    def __init__(
        self,
        message: str,
        *,
        attempts: int = 0,
        status: int | None = None,
        code: str | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        idempotency_key: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.attempts = attempts
        self.status = status
        self.code = code
        self.request_id = request_id
        self.retry_after = retry_after
        self.idempotency_key = idempotency_key


class UsageError(BikeShareError):
    """The call or the options are wrong. Nothing was sent."""


class ClientClosedError(BikeShareError):
    """The client was closed, before the call or during it. The service may have carried the request out."""


class ConnectionError(BikeShareError):  # noqa: A001 -- the name that the TypeScript client has
    """No response came, because there was no connection or it broke. The service may have carried the request out."""


class TimeoutError(BikeShareError):  # noqa: A001 -- the name that the TypeScript client has
    """No response came in time. The service may have carried the request out, unless a call has 0 `attempts`: then it only
    waited for the rate limit. If `retry_after` is set, that wait would have exceeded `total_timeout`, and was not begun.
    `wait_until_ready` and `advance_and_wait` of a sandbox may raise it with 0 `attempts` although they have sent requests.
    """


class UnexpectedResponseError(BikeShareError):
    """A response that is not as the service's should be: a redirect, a proxy's page, a list without its page numbers or
    cursor, or an export with another checksum.
    """


class ApiError(BikeShareError):
    """The service, or a proxy in front of it, answered with an error status."""


class InvalidRequestError(ApiError):
    """400, 405, 410, 413, 415, 422 and every other 4xx that has no class below, except 408: the request is wrong; the
    message says where.
    """


class CheckpointLostError(InvalidRequestError):
    """410: changes or events since the checkpoint may be missing. Read the resources again, without a checkpoint."""


class UnauthorizedError(ApiError):
    """401: the key is malformed, unknown, expired or revoked."""


class ForbiddenError(ApiError):
    """403: the key's scopes do not cover this."""


class NotFoundError(ApiError):
    """404: the resource does not exist."""


class ConflictError(ApiError):
    """409: the resource's state does not allow it; `code` says why."""


class RateLimitError(ApiError):
    """429: the key has used up its rate limit, and `max_retries` or `total_timeout` did not allow another attempt."""


class ServerError(ApiError):
    """5xx: the service failed, or cannot answer at present."""


_BY_CODE: dict[str, type[ApiError]] = {"checkpoint_lost": CheckpointLostError}
_BY_STATUS: dict[int, type[ApiError]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    # The request did not arrive in time. It is not wrong, and may be sent again.
    408: ApiError,
    409: ConflictError,
    429: RateLimitError,
}


def api_error_class(status: int, code: str | None) -> type[ApiError]:
    """Returns the class for an error response, by its code or, for most codes and all unknown ones, by its status."""
    by_default = InvalidRequestError if status < 500 else ServerError
    return _BY_CODE.get(code or "", _BY_STATUS.get(status, by_default))
