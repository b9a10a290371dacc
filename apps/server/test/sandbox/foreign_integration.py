"""An integration that uses no code of the service: only Python's standard library, HTTP and Standard Webhooks.

It plays every scenario of a sandbox, and checks the deliveries to its receiver and the answers of the API. Where something
would take minutes, it advances the sandbox's clock.
"""

import base64
import hashlib
import hmac
import json
import sys
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BASE_URL, PORT = sys.argv[1], int(sys.argv[2])
KEY, SECRET = sys.stdin.read().split()
TOLERANCE_SECONDS = 300
PATIENCE_SECONDS = 60
LOOK_SECONDS = 0.2
"""Pause between two requests of a loop. The rate limit of the sandbox's keys is 600 requests a minute."""


def verify(headers, body):
    """Returns the id and content of a delivery. Raises ValueError if it breaks the rules of Standard Webhooks 1.0."""
    message, timestamp, signatures = (headers.get(f"webhook-{name}") for name in ("id", "timestamp", "signature"))
    if not message or not timestamp or not signatures:
        raise ValueError("a header is missing")
    if abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        raise ValueError("too old or too new")
    secret = base64.b64decode(SECRET.removeprefix("whsec_"), validate=True)
    signed = f"{message}.{timestamp}.".encode() + body
    expected = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest())
    for versioned in signatures.split(" "):
        version, _, signature = versioned.partition(",")
        if version == "v1" and hmac.compare_digest(expected, signature.encode()):
            return message, json.loads(body)
    raise ValueError("no signature matches")


class Inbox:
    """The deliveries that arrived. A repeated delivery is kept once."""

    def __init__(self):
        self.deliveries = {}
        self.problems = []
        self._changed = threading.Condition()

    def add(self, message, delivery):
        with self._changed:
            self.deliveries.setdefault(message, delivery)
            self._changed.notify_all()

    def of(self, event, resource):
        """Returns the deliveries of an event about a resource. An alert is also about each of its stations."""
        named = [each for each in list(self.deliveries.values()) if each["event"] == event]
        return [each for each in named if resource in (each["data"]["id"], *each["data"].get("station_ids", []))]

    def wait_for(self, event, resource, seconds=PATIENCE_SECONDS):
        """Waits for the delivery about a resource. Returns None if it does not arrive in time."""
        with self._changed:
            self._changed.wait_for(lambda: self.of(event, resource), seconds)
        found = self.of(event, resource)
        assert len(found) <= 1, f"{event} of {resource} came as {len(found)} deliveries"
        return found[0] if found else None


inbox = Inbox()


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            inbox.add(*verify(self.headers, body))
            status = 204
        except ValueError as error:
            inbox.problems.append(str(error))
            status = 400
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def call(method, path, body=None, key=KEY):
    """Sends a request, and returns the status and body of the response."""
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(BASE_URL + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def must(method, path, body=None):
    status, answer = call(method, path, body)
    assert status < 300, (path, status, answer)
    return answer


def advance(seconds):
    must("POST", "/sandbox/v1/clock/advance", {"seconds": seconds})
    end = time.monotonic() + PATIENCE_SECONDS
    while not must("GET", "/sandbox/v1/clock")["ready"]:
        assert time.monotonic() < end, "the sandbox is not ready"
        time.sleep(LOOK_SECONDS)


def ids(steps, prefix, word):
    """Returns the ids with a prefix in the steps that contain `word`: `ride_1` from `ride ride_1 ends at …`."""
    return [each for step in steps if word in step for each in step.replace(":", "").split() if each.startswith(prefix)]


def play(name):
    played = must("POST", f"/sandbox/v1/scenarios/{name}", {})
    return played["steps"], played["key"]


def arrived(event, resource):
    delivery = inbox.wait_for(event, resource)
    assert delivery, f"{event} of {resource} did not arrive: {inbox.problems}"
    return delivery["data"]


def rush_hour():
    steps, _ = play("rush-hour")
    started, ended = ids(steps, "ride_", "starts on bike"), ids(steps, "ride_", "ends at station")
    assert (len(started), len(ended)) == (15, 10), steps
    for ride in started:
        arrived("ride.started", ride)
    for ride in ended:
        assert arrived("ride.completed", ride)["status"] == "completed"


def station_outage():
    steps, _ = play("station-outage")
    (station,) = ids(steps, "station-", "goes offline")
    assert arrived("station.offline", station)["status"] == "offline"
    assert arrived("station.online", station)["status"] == "online"
    assert arrived("alert.opened", station)["summary"] == "Without power"
    assert arrived("alert.ended", station)["ended_at"]
    assert must("GET", f"/v1/stations/{station}")["status"] == "online"


def bike_breaks_while_reserved():
    steps, _ = play("bike-breaks-while-reserved")
    (reservation,) = ids(steps, "reservation_", "is reserved")
    assert arrived("reservation.cancelled", reservation)["cancel_reason"] == "bike_unavailable"
    assert must("GET", f"/v1/reservations/{reservation}")["status"] == "cancelled"


def reservation_expires():
    steps, _ = play("reservation-expires")
    (reservation,) = ids(steps, "reservation_", "expires")
    assert arrived("reservation.expired", reservation)["status"] == "expired"
    # Also creates a reservation outside the scenario, which expires when the clock is advanced.
    bike = must("GET", "/v1/bikes?vehicle_state=available")["data"][0]
    held = must("POST", "/v1/reservations", {"station_id": bike["station_id"]})
    advance(15 * 60)
    assert arrived("reservation.expired", held["id"])["status"] == "expired"


def late_report():
    steps, _ = play("late-report")
    (ride,) = ids(steps, "ride_", "ends at station")
    completed = arrived("ride.completed", ride)
    assert must("GET", f"/v1/bikes/{completed['bike_id']}")["vehicle_state"] == "available"


def ride_corrected():
    steps, _ = play("ride-corrected")
    (ride,) = ids(steps, "ride_", "is corrected")
    before, after = arrived("ride.completed", ride), arrived("ride.corrected", ride)
    assert before["end_station_id"] != after["end_station_id"]
    assert must("GET", f"/v1/rides/{ride}")["end_station_id"] == after["end_station_id"]


def receiver_down_then_recovers():
    steps, _ = play("receiver-down-then-recovers")
    (ride,) = ids(steps, "ride_", "ends at station")
    # Nothing arrives while the receiver is down. Advancing the clock makes the next attempts due.
    for _ in range(5):
        advance(600)
        if inbox.wait_for("ride.completed", ride, 2):
            return
    raise AssertionError("the next attempts did not arrive")


def key_expires():
    _, key = play("key-expires")
    assert call("GET", "/v1/stations", key=key)[0] == 200
    advance(61)
    end = time.monotonic() + PATIENCE_SECONDS
    while call("GET", "/v1/stations", key=key)[0] != 401:
        assert time.monotonic() < end, "the key is still accepted"
        time.sleep(LOOK_SECONDS)


SCENARIOS = {
    "rush-hour": rush_hour,
    "station-outage": station_outage,
    "bike-breaks-while-reserved": bike_breaks_while_reserved,
    "reservation-expires": reservation_expires,
    "late-report": late_report,
    "ride-corrected": ride_corrected,
    "receiver-down-then-recovers": receiver_down_then_recovers,
    "key-expires": key_expires,
}

server = ThreadingHTTPServer(("127.0.0.1", PORT), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
for name, check in SCENARIOS.items():
    check()
    print(name, flush=True)
assert inbox.problems == [], inbox.problems
