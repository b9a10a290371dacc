"""The client of the Bike-Sharing Data Service: pages, rate limiting, retries, types and webhook verification."""

from . import types, webhooks
from ._async import AsyncList, AsyncListIterator, AsyncPageIterator
from ._client import AsyncBikeShare, BikeShare
from ._core.walk import Page
from ._sync import List, ListIterator, PageIterator
from ._version import __version__
from .errors import (
    ApiError,
    BikeShareError,
    CheckpointLostError,
    ClientClosedError,
    ConflictError,
    ConnectionError,
    ForbiddenError,
    InvalidRequestError,
    NotFoundError,
    RateLimitError,
    ServerError,
    TimeoutError,
    UnauthorizedError,
    UnexpectedResponseError,
    UsageError,
)
from .exports import download_export, download_export_async
from .hooks import Hooks, RateLimit, RateLimitDetails, RequestDetails, ResponseDetails, RetryDetails
from .options import IdempotentRequestOptions, RequestOptions

__all__ = [
    "ApiError",
    "AsyncBikeShare",
    "AsyncList",
    "AsyncListIterator",
    "AsyncPageIterator",
    "BikeShare",
    "BikeShareError",
    "CheckpointLostError",
    "ClientClosedError",
    "ConflictError",
    "ConnectionError",
    "ForbiddenError",
    "Hooks",
    "IdempotentRequestOptions",
    "InvalidRequestError",
    "List",
    "ListIterator",
    "NotFoundError",
    "Page",
    "PageIterator",
    "RateLimit",
    "RateLimitDetails",
    "RateLimitError",
    "RequestDetails",
    "RequestOptions",
    "ResponseDetails",
    "RetryDetails",
    "ServerError",
    "TimeoutError",
    "UnauthorizedError",
    "UnexpectedResponseError",
    "UsageError",
    "__version__",
    "download_export",
    "download_export_async",
    "types",
    "webhooks",
]
