"""Verifies that a request is a delivery of the service, unchanged and recent, and parses it."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import re
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, NoReturn, cast

from .types import Delivery

__all__ = ["SIGNATURE_HEADER", "Delivery", "WebhookVerificationError", "sign", "verify"]

SIGNATURE_HEADER = "Service-Signature"
"""The request header with the time and the signatures of a delivery."""

DEFAULT_TOLERANCE = 300.0
"""Maximum seconds between the signing and now, in either direction. Too low: rejects deliveries on a machine whose clock
is slightly wrong. Too high: an attacker has more time to replay a captured delivery."""

_MAX_HEADER_LENGTH = 8192
"""Maximum characters of the header, enough for over 100 signatures. Too low: rejects valid headers. Too high: a hostile
header costs more time."""

_MAX_TIMESTAMP = 99_999_999_999
"""The latest time that can be signed, in the year 5138. A greater number is probably in milliseconds."""

VerificationFailure = Literal[
    "missing_header",
    "malformed_header",
    "timestamp_too_old",
    "timestamp_too_new",
    "no_matching_signature",
    "body_not_raw",
    "body_not_json",
    "not_a_delivery",
    "bad_secret",
]
"""Why a delivery was refused."""


class WebhookVerificationError(Exception):
    """Raised for a request that is not a delivery of the service, and for a mistake in the receiver's setup (`body_not_raw`,
    `bad_secret`). `reason` is for programs; the message names the likely mistake. The error contains no secret, and no text
    of the body or the header.
    """

    reason: VerificationFailure

    def __init__(self, reason: VerificationFailure, message: str) -> None:
        super().__init__(reason, message)
        self.reason = reason
        self.message = message

    def __str__(self) -> str:
        return self.message


def verify(
    raw_body: bytes | bytearray | memoryview | str,
    header: str | Sequence[str] | None,
    secrets: str | Sequence[str],
    *,
    tolerance: float = DEFAULT_TOLERANCE,
    now: float | None = None,
) -> Delivery:
    """Verifies and returns the delivery in a request. Compare its `event` with a name to know what `data` holds; accept
    unknown names.

    :param raw_body: the request's body as received, before any parser
    :param header: the value of its `Service-Signature` header
    :param secrets: your endpoint's secret; during a rotation both secrets
    :param tolerance: seconds by which the time of signing may differ from now
    :param now: seconds since 1970; default: the machine's clock
    :raises WebhookVerificationError: if it is not a delivery, or the body or a secret cannot be used
    :raises ValueError: for a tolerance that would disable the check or reject every delivery, or a `now` that is no time
    """
    if not math.isfinite(tolerance) or tolerance <= 0:
        raise ValueError("tolerance must be a finite number above 0: without it, captured deliveries stay valid for ever")
    seconds = time.time() if now is None else now
    if not math.isfinite(seconds):
        raise ValueError("now must be the seconds since 1970, as time.time() returns them")
    body = _require_raw(raw_body)
    keys = _require_secrets(secrets)
    signed_at, signatures = _parse_header(header)
    _require_recent(math.floor(seconds) - int(signed_at), tolerance)
    # All pairs are compared, so that the time of the comparison does not reveal which pair matched.
    expected = [_signature(key, signed_at, body) for key in keys]
    matches = [hmac.compare_digest(given, own) for given in signatures for own in expected]
    if not any(matches):
        raise WebhookVerificationError(
            "no_matching_signature", f"No signature in the header matches the body. {_likely_mistake(body, keys)}"
        )
    return _parse_delivery(body)


def sign(body: bytes | str, secrets: str | Sequence[str], timestamp: int) -> str:
    """Returns the value of the `Service-Signature` header for a body, to test a receiver.

    :param body: the body exactly as it is sent
    :param secrets: each secret makes a signature. There are several during a rotation
    :param timestamp: seconds since 1970
    :raises ValueError: for no secret, one that is empty or not a string, and a time that is not in whole seconds
    :raises WebhookVerificationError: `body_not_raw`
    """
    if not isinstance(cast(object, timestamp), int) or not 0 <= timestamp <= _MAX_TIMESTAMP:
        raise ValueError("timestamp must be the time of signing in whole seconds since 1970: int(time.time())")
    try:
        keys = _require_secrets(secrets)
    except WebhookVerificationError as error:
        raise ValueError(error.message) from None
    raw = _require_raw(body)
    return ",".join([f"t={timestamp}", *(f"v1={_signature(key, str(timestamp), raw)}" for key in keys)])


def _signature(secret: str, signed_at: str, body: bytes) -> str:
    key = secret.encode("utf-8", "replace")
    return hmac.new(key, signed_at.encode() + b"." + body, hashlib.sha256).hexdigest()


def _require_raw(body: object) -> bytes:
    if isinstance(body, str):
        return body.encode("utf-8", "replace")
    if isinstance(body, (bytes, bytearray, memoryview)):
        # A copy, so that the verified bytes are also those that are parsed, even if the caller changes the buffer.
        return bytes(cast(bytes, body))
    if body is None:
        message = "There is no body: nothing has read it, or something read it before. Pass the bytes as received."
    elif hasattr(body, "__await__"):
        message = "The body is awaitable: await it first."
    elif hasattr(body, "read") or hasattr(body, "body"):
        message = "The body is a request or a stream that nothing has read: pass its content."
    else:
        message = (
            f"The body is of type {type(body).__name__}, not the bytes that were received: it was probably parsed already. "
            "A signature is valid for the exact bytes only, so verify before any JSON parser reads the request."
        )
    raise WebhookVerificationError("body_not_raw", message)


def _require_secrets(secrets: object) -> list[str]:
    is_single = isinstance(secrets, (str, bytes)) or secrets is None
    given: list[object] = [secrets] if is_single else list(cast("Sequence[object]", secrets))
    if not given:
        raise WebhookVerificationError("bad_secret", "The list of secrets is empty.")
    for secret in given:
        if secret is None:
            message = "The secret is not set: is its environment variable missing?"
        elif secret == "":
            message = "A secret is empty: anybody could sign with it."
        elif not isinstance(secret, str):
            message = "A secret is not a string. Pass it as it was shown to you, with whsec_ and not decoded."
        else:
            continue
        raise WebhookVerificationError("bad_secret", message)
    return cast("list[str]", given)


def _parse_header(value: object) -> tuple[str, list[str]]:
    """Returns the time, as written, and the signatures. Unknown schemes are ignored, because a new one will first be sent
    beside `v1`.
    """
    text = ",".join(map(str, cast("list[object]", value))) if isinstance(value, (list, tuple)) else value
    if text is None or text == "":
        raise WebhookVerificationError(
            "missing_header",
            f"The {SIGNATURE_HEADER} header is missing. Either the request is not a delivery, or a proxy dropped the header.",
        )
    if not isinstance(text, str):
        _malformed("is not a string: pass the header's value, decoded, and not all headers")
    if len(text) > _MAX_HEADER_LENGTH:
        _malformed(f"has more than {_MAX_HEADER_LENGTH} characters")
    entries = text.split(",")
    # Proxies join headers with ", ", which the service never writes.
    if sum(entry.lstrip().startswith("t=") for entry in entries) > 1:
        _malformed("has more than one t: two headers were probably joined")
    if text.strip() != text:
        _malformed("begins or ends with white space: take it from the request, not from a log")
    times: list[str] = []
    signatures: list[str] = []
    for entry in entries:
        match = re.fullmatch(r"([A-Za-z0-9_-]+)=(.*)", entry, re.DOTALL)
        if match is None:
            _malformed("is not a list of <name>=<value> separated by commas without spaces")
        scheme, given = match.groups()
        if scheme == "t":
            times.append(given)
        elif scheme == "v1":
            signatures.append(given)
    if not times:
        _malformed("has no t")
    if not re.fullmatch(r"0|[1-9][0-9]{0,10}", times[0]):
        _malformed("has a t that is not a number of seconds since 1970")
    if not signatures:
        _malformed("has no v1")
    if not all(re.fullmatch(r"[0-9a-f]{64}", signature) for signature in signatures):
        _malformed("has a v1 that is not 64 lowercase hexadecimal digits: it was probably cut off, or changed on its way")
    return times[0], signatures


def _malformed(issue: str) -> NoReturn:
    raise WebhookVerificationError("malformed_header", f"The {SIGNATURE_HEADER} header {issue}.")


def _require_recent(age: int, tolerance: float) -> None:
    if age > tolerance:
        raise WebhookVerificationError(
            "timestamp_too_old",
            f"The delivery was signed {age} s ago by this machine's clock; {tolerance:g} s are tolerated. "
            "Either it waited before it was verified, or somebody else sent it again, or this clock is fast.",
        )
    if -age > tolerance:
        raise WebhookVerificationError(
            "timestamp_too_new",
            f"The delivery was signed {-age} s in the future by this machine's clock; {tolerance:g} s are tolerated. "
            "This clock is probably slow: synchronize it.",
        )


def _parse_delivery(body: bytes) -> Delivery:
    """Parses a body whose signature is valid. Only the envelope is checked: events and fields are added within a version,
    and a receiver must accept unknown ones.
    """
    try:
        value: object = json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        # The parser's message is not passed on, because it quotes the body.
        raise WebhookVerificationError(
            "body_not_json", "The body is signed, but it is not JSON in UTF-8. Was something else signed with this secret?"
        ) from None
    issue = _envelope_issue(value)
    if issue is not None:
        raise WebhookVerificationError(
            "not_a_delivery",
            f"The body is signed, but it is not a delivery: {issue}. Was something else signed with this secret?",
        )
    return cast(Delivery, value)


def _refuse_constant(name: str) -> NoReturn:
    """Rejects `NaN` and `Infinity`, which Python's parser accepts although JSON has no such values."""
    raise ValueError(name)


def _envelope_issue(value: object) -> str | None:
    if not isinstance(value, dict):
        return "it is not an object"
    fields = cast("dict[str, object]", value)
    for name in ("event", "delivery_id"):
        text = fields.get(name)
        if not isinstance(text, str) or not text:
            return f"{name} is not a string"
    for name in ("occurred_at", "sent_at"):
        if not _is_timestamp(fields.get(name)):
            return f"{name} is not a valid timestamp"
    return None if isinstance(fields.get("data"), dict) else "data is not an object"


def _is_timestamp(value: object) -> bool:
    match = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?Z", value, re.ASCII) if isinstance(value, str) else None
    if match is None:
        return False
    try:
        datetime.fromisoformat(match.group(1))
    except ValueError:
        return False
    return True


def _likely_mistake(body: bytes, secrets: list[str]) -> str:
    """Returns the most likely mistake when no signature matches. It mentions the secrets without revealing them."""
    for secret in secrets:
        if secret.strip() != secret:
            return "A secret begins or ends with white space, such as the line break of the file it was read from: strip it."
        if secret[0] in "\"'`":
            return "A secret is enclosed in quotes: remove them."
    text = body.decode("utf-8", "replace")
    if not text:
        return "The body is empty: something read it before, or it was never read."
    # `eyJ` is how `{"` begins in base64.
    if re.fullmatch(r"eyJ[\w+/]+=*", text, re.ASCII):
        return "The body is in base64, as some platforms provide it: decode it first, and pass the bytes."
    if not text.startswith('{"event":"') or text.rstrip() != text:
        return (
            "The body is not formatted as the service formats it: it was probably parsed and serialized again, or changed "
            "on its way. Verify the bytes that were received."
        )
    if "\ufffd" in text:
        return "The body lost characters when it was decoded, probably chunk by chunk: join the chunks as bytes."
    if re.search("[\u00c2-\u00f4][\u0080-\u00bf]", text):
        return "The body was decoded as Latin-1, but it is UTF-8: pass its bytes."
    if any(secret.startswith("bss_") for secret in secrets):
        return "A secret is an API key: the webhook secret is another string."
    if any(re.search(r"whsec_.*[,\s]", secret, re.DOTALL) for secret in secrets):
        return "A secret contains a comma or a space: pass several secrets as a list."
    if not any(secret.startswith("whsec_") for secret in secrets):
        return "The secret does not begin with whsec_: pass the whole string that was shown to you, not decoded."
    return (
        "Either the secret is wrong (that of another endpoint, rotated and expired since, or cut off), or the body is not "
        "byte for byte what was received."
    )
