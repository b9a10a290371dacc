"""Makes vectors.json: headers and bodies that a verifier of deliveries must accept, and others that it must reject. Made
with Python's own hmac, so that they do not depend on the code that they test.

    python3 tools/make_vectors.py > vectors.json && oxfmt vectors.json
"""

import hashlib
import hmac
import json

NOW = 1773476504  # 2026-03-14T08:21:44Z
TOLERANCE = 300
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwdGhpcyBpcyB"
NEXT_SECRET = "whsec_u7V0nqJtq9YyEo3gWm2XzqzTj1cQb5rK8dH4sPfLx0A"
OTHER_SECRET = "whsec_3q2-7wAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaG"
RIDE = {
    "id": "ride_01JP9V6QK8N3", "bike_id": "bike_4711", "status": "completed", "start_station_id": "JC105",
    "end_station_id": "HB103", "started_at": "2026-03-14T08:02:11.000Z", "ended_at": "2026-03-14T08:20:26.000Z",
    "duration_seconds": 1095, "distance_meters": 3120, "vehicle_type_id": "electric", "rider_category": "member",
    "end_reason": "returned", "is_countable": True, "updated_at": "2026-03-14T08:20:26.804Z",
}


def body_of(event="ride.completed", data=RIDE, **more):
    delivery = {
        "event": event, "delivery_id": "delivery_01JP9V7A2B6E", "occurred_at": "2026-03-14T08:20:26.804Z",
        "sent_at": "2026-03-14T08:21:44.120Z", "data": data, **more,
    }
    return json.dumps(delivery, ensure_ascii=False, separators=(",", ":"))


def mac(body, secret=SECRET, t=NOW):
    return hmac.new(secret.encode(), f"{t}.{body}".encode(), hashlib.sha256).hexdigest()


def header_of(body, secrets=(SECRET,), t=NOW):
    return f"t={t}," + ",".join(f"v1={mac(body, secret, t)}" for secret in secrets)


BODY = body_of()
GOOD = mac(BODY)
WORDS = body_of(data={**RIDE, "id": "🚲 Zürich–Örlikon \u2028 東京\t\"\\ \u0000"})
NEW = body_of("bike.repainted", {"id": "bike_4711", "colour": "green"}, trace={"id": 7})
EMPTY_KEY = hmac.new(b"", f"{NOW}.{BODY}".encode(), hashlib.sha256).hexdigest()


def case(name, body=BODY, header=None, secrets=(SECRET,), now=NOW, **more):
    """Returns a vector. Without a header, it has the right one for the body."""
    return {"name": name, "secrets": list(secrets), "header": header_of(body) if header is None else header,
            "body": body, "now": now, **more}


def bad(reason, name, *args, **kwargs):
    """Returns a vector that a verifier rejects with the error code `reason`."""
    return case(name, *args, reason=reason, **kwargs)


valid = [
    case("one secret"),
    case("two secrets known, the first signed", secrets=(SECRET, NEXT_SECRET)),
    case("two secrets known, the second signed", secrets=(NEXT_SECRET, SECRET)),
    case("signed with two secrets, the first known", header=header_of(BODY, (SECRET, NEXT_SECRET))),
    case("signed with two secrets, the second known", header=header_of(BODY, (NEXT_SECRET, SECRET))),
    case("signed with two secrets, both known", header=header_of(BODY, (SECRET, NEXT_SECRET)),
         secrets=(NEXT_SECRET, SECRET)),
    case("a body beyond ASCII", WORDS),
    case("a secret that is any text", header=header_of(BODY, ("påss wörd",)), secrets=("påss wörd",)),
    case("an event and fields that are newer than the receiver", NEW),
    case("an older scheme beside v1", header=f"t={NOW},v0={'0' * 64},v1={GOOD}"),
    case("a later scheme beside v1", header=f"t={NOW},v1={GOOD},v2=AbC+/=="),
    case("v1 before t", header=f"v1={GOOD},t={NOW}"),
    case("signed as long ago as is tolerated", now=NOW + TOLERANCE),
    case("signed as far in the future as is tolerated", now=NOW - TOLERANCE),
]

invalid = [
    bad("missing_header", "no header", header=""),
    bad("malformed_header", "no t", header=f"v1={GOOD}"),
    bad("malformed_header", "two t", header=f"t={NOW},t={NOW},v1={GOOD}"),
    bad("malformed_header", "two headers joined", header=f"{header_of(BODY)}, {header_of(BODY)}"),
    bad("malformed_header", "t empty", header=f"t=,v1={GOOD}"),
    bad("malformed_header", "t with a sign", header=f"t=+{NOW},v1={GOOD}"),
    bad("malformed_header", "t with a fraction", header=f"t={NOW}.0,v1={GOOD}"),
    bad("malformed_header", "t with a blank", header=f"t= {NOW},v1={GOOD}"),
    bad("malformed_header", "t in hexadecimal", header=f"t=0x69B51B18,v1={GOOD}"),
    bad("malformed_header", "no v1", header=f"t={NOW}"),
    bad("malformed_header", "only an older scheme", header=f"t={NOW},v0={GOOD}"),
    bad("malformed_header", "v1 empty", header=f"t={NOW},v1="),
    bad("malformed_header", "v1 cut off", header=f"t={NOW},v1={GOOD[:-1]}"),
    bad("malformed_header", "another separator", header=f"t={NOW};v1={GOOD}"),
    bad("malformed_header", "no header of this kind", header="Bearer something"),
    bad("timestamp_too_old", "signed a second too long ago", now=NOW + TOLERANCE + 1),
    bad("timestamp_too_old", "signed a year ago", now=NOW + 31_536_000),
    bad("timestamp_too_new", "signed a second too far in the future", now=NOW - TOLERANCE - 1),
    bad("timestamp_too_new", "signed a year in the future", now=NOW - 31_536_000),
    bad("no_matching_signature", "another secret", secrets=(OTHER_SECRET,)),
    bad("no_matching_signature", "two other secrets", secrets=(OTHER_SECRET, NEXT_SECRET)),
    bad("no_matching_signature", "the body of another delivery", body_of("ride.started"), header_of(BODY)),
    bad("no_matching_signature", "the body with blanks, as if written again", json.dumps(json.loads(BODY)),
        header_of(BODY)),
    bad("no_matching_signature", "the body with a line's end", BODY + "\n", header_of(BODY)),
    bad("no_matching_signature", "no body", "", header_of(BODY)),
    bad("no_matching_signature", "the time changed", header=f"t={NOW + 1},v1={GOOD}"),
    bad("no_matching_signature", "one digit changed", header=f"t={NOW},v1={GOOD[:-1]}{int(GOOD[-1], 16) ^ 1:x}"),
    bad("no_matching_signature", "the body signed without its time",
        header=f"t={NOW},v1={hmac.new(SECRET.encode(), BODY.encode(), hashlib.sha256).hexdigest()}"),
    bad("no_matching_signature", "the secret without whsec_ as the key", header=header_of(BODY, (SECRET[6:],))),
    bad("no_matching_signature", "the right signature as another scheme", header=f"t={NOW},v0={GOOD},v1={'0' * 64}"),
    bad("no_matching_signature", "signed with an empty secret", header=f"t={NOW},v1={EMPTY_KEY}"),
    bad("bad_secret", "an empty secret", header=f"t={NOW},v1={EMPTY_KEY}", secrets=("",)),
    bad("bad_secret", "an empty secret beside a good one", secrets=(SECRET, "")),
    bad("bad_secret", "no secret", secrets=()),
    bad("body_not_json", "signed, but not JSON", "ping"),
    bad("body_not_json", "signed, but JSON in part", BODY[:-1]),
    bad("not_a_delivery", "signed, but no object", "[]"),
    bad("not_a_delivery", "signed, but nothing of a delivery", "{}"),
    bad("not_a_delivery", "signed, but without an id", body_of(delivery_id="")),
    bad("not_a_delivery", "signed, but when it happened is not said", body_of(occurred_at="yesterday")),
    bad("not_a_delivery", "signed, but its data is no object", body_of(data=None)),
]

print(json.dumps({
    "description": "Service-Signature: t=<unix seconds>,v1=<hex HMAC-SHA256 of t, a dot and the body, keyed with the "
                   "secret's text in UTF-8>. `now` is in unix seconds. A verifier accepts all of `valid` and refuses all "
                   "of `invalid`.",
    "tolerance": TOLERANCE,
    "valid": valid,
    "invalid": invalid,
}, ensure_ascii=False, indent=2))
