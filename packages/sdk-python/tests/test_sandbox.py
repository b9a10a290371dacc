"""The clients of a sandbox, and the command line."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, get_args

import httpx
import pytest
from harness import KEY, ROOT, Script, Side, VirtualTime, error, reply

from bikeshare import ConnectionError, ServerError, TimeoutError, UsageError
from bikeshare._cli import run
from bikeshare.sandbox import AsyncSandboxClient, SandboxClient
from bikeshare.types import SandboxEventName, SandboxScenarioName

READY = {"now": "2026-01-01T00:00:00.000Z", "advanced_seconds": 900, "ready": True}
BUSY = {**READY, "ready": False}


def sent(script: Script) -> list[str]:
    return [f"{each.method} {each.url.path} {each.content.decode()}".strip() for each in script.sent]


def test_each_call_goes_to_its_endpoint_with_its_body(side: Side) -> None:
    script = Script(reply({}))
    sandbox = side.client(script, is_sandbox=True).sandbox
    for call in (
        sandbox.show,
        sandbox.reset,
        lambda: sandbox.reset(seed=7),
        lambda: sandbox.trigger("ride.completed"),
        lambda: sandbox.trigger("station.offline", station_id="station-007"),
        lambda: sandbox.scenario("rush-hour"),
        sandbox.clock,
        lambda: sandbox.add_fault(status="timeout", count=2),
        sandbox.end_faults,
        lambda: sandbox.set_webhook_faults(duplicate=True),
    ):
        side.do(call)
    assert sent(script) == [
        "GET /sandbox/v1",
        "POST /sandbox/v1/reset {}",
        'POST /sandbox/v1/reset {"seed":7}',
        "POST /sandbox/v1/events/ride.completed {}",
        'POST /sandbox/v1/events/station.offline {"station_id":"station-007"}',
        "POST /sandbox/v1/scenarios/rush-hour {}",
        "GET /sandbox/v1/clock",
        'POST /sandbox/v1/faults {"status":"timeout","count":2}',
        "DELETE /sandbox/v1/faults",
        'POST /sandbox/v1/webhooks/faults {"duplicate":true}',
    ]


def test_the_clock_is_advanced_once_and_waited_for(side: Side, time: VirtualTime) -> None:
    script = Script(reply(BUSY, 202), *[reply(BUSY)] * 20, reply(READY))
    client = side.client(script, time=time, is_sandbox=True)
    assert side.do(lambda: client.sandbox.advance_and_wait(seconds=900)) == READY
    assert sent(script) == ['POST /sandbox/v1/clock/advance {"seconds":900}', *["GET /sandbox/v1/clock"] * 21]
    # After a while there is at most one request a second, far below 600 a minute.
    assert time.now > 15


def test_a_wait_ends_with_its_total_timeout(side: Side, time: VirtualTime) -> None:
    client = side.client(Script(reply(BUSY)), time=time, is_sandbox=True)
    error = side.caught(lambda: client.sandbox.wait_until_ready(options={"total_timeout": 5}))
    assert isinstance(error, TimeoutError)
    assert time.now <= 5


def test_a_wait_that_wakes_up_after_its_total_timeout_ends_with_it(side: Side, time: VirtualTime) -> None:
    client = side.client(Script(reply(BUSY)), time=time, is_sandbox=True)
    # The waits of 0.05, 0.1, 0.2, 0.4 and 0.8 s end 1 ms late each. The last would end at 1.554 s, just before the timeout,
    # and ends just after it. The request before it has 0.8 s, which is enough on a busy machine.
    time.late = 0.001
    error = side.caught(lambda: client.sandbox.wait_until_ready(options={"total_timeout": 1.5545}))
    assert isinstance(error, TimeoutError) and "not ready within 1.5545 s" in str(error)


@pytest.mark.parametrize("name", ["trigger", "scenario", "advance", "add_fault"])
def test_what_would_happen_again_is_sent_again_after_a_429_only(name: str, side: Side) -> None:
    def call(script: Script) -> Any:
        sandbox = side.client(script, is_sandbox=True).sandbox
        return {
            "trigger": lambda: sandbox.trigger("ride.completed"),
            "scenario": lambda: sandbox.scenario("rush-hour"),
            "advance": lambda: sandbox.advance(seconds=1),
            "add_fault": lambda: sandbox.add_fault(status=503),
        }[name]

    broken, failed = Script(httpx.ReadError("the connection broke")), Script(error(503, "unavailable"))
    assert isinstance(side.caught(call(broken)), ConnectionError) and len(broken.sent) == 1
    assert isinstance(side.caught(call(failed)), ServerError) and len(failed.sent) == 1
    limited = Script(error(429, "rate_limited", {"retry-after": "1"}), reply({}, 202 if name == "advance" else 200))
    side.do(call(limited))
    assert len(limited.sent) == 2


def test_the_sandbox_has_a_rate_limit_of_its_own(side: Side, time: VirtualTime) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        quota, left = (600, 0) if request.url.path.startswith("/sandbox") else (60, 59)
        headers = {"ratelimit-policy": f'"default";q={quota};w=60', "ratelimit": f'"default";r={left};t=60'}
        return reply(READY, 200, headers)

    client = side.client(answer, time=time, is_sandbox=True)
    side.do(client.sandbox.clock)
    side.do(client.me.get)
    assert time.now == 0
    side.do(client.sandbox.clock)
    assert time.now >= 60


def test_a_live_key_is_refused_before_anything_is_sent_and_not_shown() -> None:
    for kind in (SandboxClient, AsyncSandboxClient):
        with pytest.raises(UsageError, match="begins with bss_test_") as refused:
            kind(base_url="https://bikes.example", api_key="bss_live_1234567890")
        assert "1234567890" not in str(refused.value)


def test_closing_the_client_ends_a_wait_for_the_clock() -> None:
    waiting = threading.Event()

    def answer(_: httpx.Request) -> httpx.Response:
        waiting.set()
        return reply(BUSY)

    http = httpx.Client(transport=httpx.MockTransport(answer))
    client = SandboxClient(base_url="https://bikes.example", api_key=KEY, http_client=http)
    ended: list[BaseException] = []

    def wait() -> None:
        try:
            client.sandbox.wait_until_ready()
        except Exception as error:
            ended.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    assert waiting.wait(60)
    client.close()
    thread.join(60)
    http.close()
    assert [type(error).__name__ for error in ended] == ["ClientClosedError"]


class Service:
    """A sandbox that gives the same answer to each request, and records the requests."""

    def __init__(self) -> None:
        self.status = 200
        self.body: dict[str, Any] = {"resource_id": "ride_1", "steps": ["ride_1 starts", "it\x1b[2J ends"]}
        self.seen: list[tuple[str, Any]] = []


@pytest.fixture
def service() -> Iterator[Service]:
    state = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["content-length"]))
            state.seen.append((self.path, json.loads(content)))
            body = json.dumps(state.body).encode()
            self.send_response(state.status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever).start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}"  # type: ignore[attr-defined]
    yield state
    server.shutdown()
    server.server_close()


def call(service: Any, *args: str, key: str = KEY) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    status = run(args, {"BIKESHARE_BASE_URL": service.url, "BIKESHARE_API_KEY": key}, out, err)
    assert key not in out.getvalue() + err.getvalue()
    return status, out.getvalue(), err.getvalue()


def test_trigger_causes_an_event_and_says_what_happened_without_control_characters(service: Service) -> None:
    said = "- ride_1 starts\n- it\ufffd[2J ends\nride.completed: ride_1\n"
    assert call(service, "trigger", "ride.completed", "--station", "market") == (0, said, "")
    assert service.seen == [("/sandbox/v1/events/ride.completed", {"station_id": "market"})]
    _, out, _ = call(service, "trigger", "ride.completed", "--json")
    assert json.loads(out) == service.body


def test_trigger_plays_a_scenario_and_shows_the_key_that_it_makes_only_as_json(service: Service) -> None:
    service.body = {"scenario": "key-expires", "steps": ["key key_1 expires"], "key": "bss_test_made"}
    assert call(service, "trigger", "key-expires") == (
        0,
        "- key key_1 expires\n",
        "--json shows the key that was made.\n",
    )
    assert json.loads(call(service, "trigger", "key-expires", "--json")[1])["key"] == "bss_test_made"


def test_trigger_says_why_it_failed(service: Service) -> None:
    service.status, service.body = 409, {"error": "station_offline", "message": "The station is offline."}
    assert call(service, "trigger", "ride.started") == (1, "", "409 station_offline: The station is offline.\n")
    assert len(service.seen) == 1


@pytest.mark.parametrize(
    ("args", "key", "reason"),
    [
        (["trigger", "ride.flown"], KEY, "--help` lists them"),
        (["trigger", "rush-hour", "--station", "s"], KEY, "--station is of events"),
        (["trigger", "ride.started"], "bss_live_1234567890", "begins with bss_test_"),
        (["trigger", "ride.started"], "", "BIKESHARE_API_KEY is not set"),
        (["trigger", "ride.started", "--api-key-file", "/none/there"], KEY, "--api-key-file: the file cannot be read"),
        (["trigger", "ride.started", "--api-key=bss_test_x"], KEY, "every user of this machine can read a key"),
    ],
)
def test_wrong_usage_is_explained_and_sends_nothing(service: Service, args: list[str], key: str, reason: str) -> None:
    out, err = io.StringIO(), io.StringIO()
    url = service.url  # type: ignore[attr-defined]
    assert run(args, {"BIKESHARE_BASE_URL": url, "BIKESHARE_API_KEY": key}, out, err) == 2
    assert reason in err.getvalue() and "bss_live_1" not in err.getvalue()
    assert service.seen == []


def test_the_module_runs_names_all_it_can_trigger_and_repeats_no_key() -> None:
    def start(*args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "bikeshare", *args]
        return subprocess.run(command, capture_output=True, text=True, cwd=ROOT / "packages/sdk-python/src")

    shown = start("trigger", "--help")
    assert shown.returncode == 0
    for name in (*get_args(SandboxEventName), *get_args(SandboxScenarioName)):
        assert name in shown.stdout
    wrong = start("trigger", "ride.completed", "bss_test_secret")
    assert wrong.returncode == 2 and "bss_test_secret" not in wrong.stderr
