"""Builds the request of a call: its address, its headers and its body."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode, urlsplit

from .._version import __version__
from ..errors import UsageError

Query = Mapping[str, object]
"""Query parameters. Those that are None are not sent."""


@dataclass(frozen=True)
class Route:
    """What the client needs to know of an endpoint. It is generated from the contract."""

    method: str
    path: str
    success: int
    """The HTTP status of a success."""
    is_idempotent: bool = False
    """Whether it takes an `Idempotency-Key`."""
    is_open: bool = False
    """Whether it needs no key and does not count towards the rate limit."""
    is_once: bool = False
    """Whether a repeated request has its effect again, so that it is retried after a 429 only."""

    @property
    def operation(self) -> str:
        """Returns method and path, for messages: `GET /v1/rides/{id}`."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True)
class ApiRequest:
    """A request to an endpoint."""

    route: Route
    id: str | None = None
    query: Query | None = None
    body: Mapping[str, object] | None = None


_LOOPBACK = re.compile(r"(?:[\w.-]+\.)?localhost|127(?:\.\d+){3}|::1", re.ASCII)


def parse_base_url(text: object) -> str:
    """Checks the service's base URL and returns it without a trailing slash.

    :raises UsageError: when it is not https (except on this machine), has credentials, a query or a fragment, or ends in
        /v1, because every path begins with /v1. The message does not contain the text, because somebody may pass the key
        as the base URL by mistake
    """
    if not isinstance(text, str) or not text:
        raise UsageError("base_url is not set")
    wrong = UsageError("base_url must be https:// or http://localhost")
    # `urlsplit` would silently drop some characters beyond visible ASCII. These four belong to credentials, a query or
    # a fragment, or are taken for a slash.
    if not re.fullmatch(r"[!-~]+", text) or re.search(r"[@?#\\]", text):
        raise wrong
    try:
        parts = urlsplit(text)
        # `port` is read because that raises ValueError for an invalid one.
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise wrong from None
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and _LOOPBACK.fullmatch(host or ""))
    if not host or not is_safe:
        raise wrong
    if re.search(r"/v1/*$", parts.path):
        raise UsageError("base_url must not end with /v1")
    return text.rstrip("/")


def require_header_value(name: str, value: object) -> str:
    """Checks a header's value and returns it: visible ASCII, with spaces only inside. Other values would be changed or
    rejected on the way.

    :raises UsageError: with the name, but not the value
    """
    if isinstance(value, str) and re.fullmatch(r"[!-~](?:[ -~]*[!-~])?", value):
        return value
    raise UsageError(f"{name} {'must be ASCII without spaces around it' if value else 'is not set'}")


def build_url(base_url: str, request: ApiRequest) -> str:
    """Returns the address of a request.

    :raises UsageError: for an id that cannot be part of a path
    """
    path = request.route.path
    if "{" in path:
        # With an empty id the path would be that of the list; `.` and `..` would be resolved as relative steps.
        if not isinstance(request.id, str) or request.id in ("", ".", ".."):
            raise UsageError(f"{request.id!r} is not a valid id")
        path = path[: path.index("{")] + quote(request.id, safe="", errors="replace") + path[path.index("}") + 1 :]
    query = {name: value for name, value in (request.query or {}).items() if value is not None}
    return base_url + path + ("?" + urlencode(query, errors="replace") if query else "")


def build_headers(request: ApiRequest, user_agent: str | None, idempotency_key: str | None) -> dict[str, str]:
    """Returns the headers of a request without the key, as hooks get them."""
    headers = {"accept": "application/json", "user-agent": f"{user_agent or ''} bikeshare-sdk-python/{__version__}".strip()}
    if not request.route.is_open:
        headers["authorization"] = "Bearer [redacted]"
    if request.body is not None:
        headers["content-type"] = "application/json"
    if idempotency_key is not None:
        headers["idempotency-key"] = idempotency_key
    return headers


def encode_body(request: ApiRequest) -> bytes | None:
    """Returns the body in JSON, without the fields that are None, because None means that a field is not given."""
    if request.body is None:
        return None
    fields = {name: value for name, value in request.body.items() if value is not None}
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
