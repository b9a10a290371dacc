"""Tests the verification with the published vectors."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import pytest
from harness import ROOT

from bikeshare.webhooks import SIGNATURE_HEADER, WebhookVerificationError, sign, verify

VECTORS = json.loads((ROOT / "packages/webhooks/vectors.json").read_text("utf-8"))
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwdGhpcyBpcyB"
OTHER = "whsec_u7V0nqJtq9YyEo3gWm2XzqzTj1cQb5rK8dH4sPfLx0A"
NOW = 1773476504
BODY: str = VECTORS["valid"][0]["body"]
HEADER = sign(BODY, SECRET, NOW)


def name(vector: dict[str, Any]) -> str:
    return str(vector["name"])


def refused(body: Any, header: Any, secrets: Any, now: float = NOW) -> WebhookVerificationError:
    with pytest.raises(WebhookVerificationError) as caught:
        verify(body, header, secrets, now=now)
    return caught.value


@pytest.mark.parametrize("vector", VECTORS["valid"], ids=name)
def test_accepts(vector: dict[str, Any]) -> None:
    body = vector["body"].encode()
    for form in (body, bytearray(body), memoryview(body), vector["body"]):
        assert verify(form, vector["header"], vector["secrets"], now=vector["now"]) == json.loads(body)


@pytest.mark.parametrize("vector", VECTORS["invalid"], ids=name)
def test_refuses(vector: dict[str, Any]) -> None:
    for body in (vector["body"], vector["body"].encode()):
        assert refused(body, vector["header"], vector["secrets"], vector["now"]).reason == vector["reason"]


def test_signs_as_the_vectors_are_signed() -> None:
    signed = [each for each in VECTORS["valid"] if len(each["secrets"]) == 1 and each["header"].startswith(f"t={each['now']},v1=")]
    assert len(signed) >= 3
    for each in signed:
        if each["header"].count(",") == 1:
            assert sign(each["body"], each["secrets"], each["now"]) == each["header"]
    assert verify(BODY, sign(BODY, [OTHER, SECRET], NOW), SECRET, now=NOW)["event"] == "ride.completed"


def test_refuses_a_body_with_any_bit_flipped() -> None:
    body = bytearray(BODY.encode())
    for bit in range(0, len(body) * 8, 7):
        body[bit // 8] ^= 1 << bit % 8
        assert refused(body, HEADER, SECRET).reason == "no_matching_signature"
        body[bit // 8] ^= 1 << bit % 8


def test_refuses_the_header_with_any_bit_flipped() -> None:
    for bit in range(len(HEADER) * 8):
        header = bytearray(HEADER.encode())
        header[bit // 8] ^= 1 << bit % 8
        refused(BODY, header.decode("latin-1"), SECRET)


@pytest.mark.parametrize(
    ("mistake", "reason", "words"),
    [
        (lambda: refused(json.loads(BODY), HEADER, SECRET), "body_not_raw", "parsed already"),
        (lambda: refused(None, HEADER, SECRET), "body_not_raw", "There is no body"),
        (lambda: refused(b"", HEADER, SECRET), "no_matching_signature", "The body is empty"),
        (lambda: refused(base64.b64encode(BODY.encode()), HEADER, SECRET), "no_matching_signature", "base64"),
        (lambda: refused(json.dumps(json.loads(BODY)), HEADER, SECRET), "no_matching_signature", "serialized again"),
        (lambda: refused(BODY, HEADER, OTHER), "no_matching_signature", "the secret is wrong"),
        (lambda: refused(BODY, HEADER, f"{SECRET}\n"), "no_matching_signature", "white space"),
        (lambda: refused(BODY, HEADER, f'"{SECRET}"'), "no_matching_signature", "quotes"),
        (lambda: refused(BODY, HEADER, f"{SECRET},{OTHER}"), "no_matching_signature", "as a list"),
        (lambda: refused(BODY, HEADER, "bss_live_abc"), "no_matching_signature", "API key"),
        (lambda: refused(BODY, HEADER, None), "bad_secret", "environment variable missing"),
        (lambda: refused(BODY, HEADER, b"x"), "bad_secret", "not a string"),
        (lambda: refused(BODY, None, SECRET), "missing_header", "a proxy dropped the header"),
        (lambda: refused(BODY, HEADER.encode(), SECRET), "malformed_header", "not a string"),
        (lambda: refused(BODY, {"service-signature": HEADER}, SECRET), "malformed_header", "not all headers"),
        (lambda: refused(BODY, [HEADER, HEADER], SECRET), "malformed_header", "two headers"),
        (lambda: refused(BODY, HEADER.upper(), SECRET), "malformed_header", "has no t"),
        (lambda: refused(BODY, f"{HEADER}\r\n", SECRET), "malformed_header", "white space"),
        (lambda: refused(BODY, HEADER, SECRET, NOW + 301), "timestamp_too_old", "301 s ago"),
        (lambda: refused(BODY, HEADER, SECRET, NOW - 301), "timestamp_too_new", "301 s in the future"),
    ],
)
def test_names_the_likely_mistake_and_no_secret(mistake: Any, reason: str, words: str) -> None:
    error = mistake()
    assert error.reason == reason
    assert words in str(error)
    assert SECRET not in repr(error) and OTHER not in repr(error)


@pytest.mark.parametrize("text", ["NaN", "[" * 100_000, '{"event":"a"', "\ufeff{}"])
def test_refuses_what_is_signed_and_no_json(text: str) -> None:
    body = f'{{"event":"x","delivery_id":"d","data":{text}' if text == "NaN" else text
    body += "}" if text == "NaN" else ""
    assert refused(body, sign(body, SECRET, NOW), SECRET).reason == "body_not_json"


def test_accepts_a_header_as_a_list_of_one_and_both_ends_of_the_tolerance() -> None:
    for now in (NOW - 300, NOW, NOW + 300.9):
        assert verify(BODY, [HEADER], SECRET, now=now)["delivery_id"]


@pytest.mark.parametrize("options", [{"tolerance": 0}, {"tolerance": math.inf}, {"tolerance": math.nan}, {"now": math.nan}])
def test_rejects_what_would_disable_the_check(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        verify(BODY, HEADER, SECRET, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"secrets": []}, {"secrets": ""}, {"timestamp": 0.5}, {"timestamp": 1773476504000}])
def test_rejects_what_cannot_sign(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"secret|whole seconds"):
        sign(**{"body": "{}", "secrets": SECRET, "timestamp": NOW, **wrong})


def test_the_header_has_its_name() -> None:
    assert SIGNATURE_HEADER == "Service-Signature"
