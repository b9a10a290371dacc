"""Single calls: options, requests, retries, errors, and that the key is never shown."""

from __future__ import annotations

import copy
import math
import pickle
import traceback
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from harness import KEY, Script, Side, VirtualTime, error, reply

import bikeshare
from bikeshare import AsyncBikeShare, BikeShare, BikeShareError, Hooks, UsageError

RIDE = {"id": "r1"}
DOWN = httpx.ConnectError("connect refused")


@pytest.mark.parametrize(
    "url",
    [
        "https://bikes.example",
        "https://bikes.example/",
        "https://bikes.example:8443/under/here/",
        "http://localhost:8080",
        "http://app.localhost",
        "http://127.0.0.1:1",
        "http://[::1]:3000",
        "HTTPS://BIKES.EXAMPLE",
    ],
)
def test_the_address_may_be(url: str) -> None:
    BikeShare(api_key=KEY, base_url=url).close()


@pytest.mark.parametrize(
    "url",
    [
        "http://bikes.example",
        "http://127.0.0.1.example",
        "http://localhost.example",
        "http://127.0.0.1@evil.example",
        "http://localhost\\@evil.example",
        "http://evil.example#localhost",
        "http://10.0.0.1",
        "http://0.0.0.0",
        "http://[::2]",
        "http://[::1",
        "ftp://bikes.example",
        "https://user:pass@bikes.example",
        "https://bikes.example?x=1",
        "https://bikes.example:port",
        "https:// bikes.example",
        "https://",
        "bikes.example",
        "//bikes.example",
        KEY,
    ],
)
def test_rejects_the_address_and_does_not_repeat_it(url: str) -> None:
    with pytest.raises(UsageError, match="^base_url must be https") as caught:
        BikeShare(api_key=KEY, base_url=url)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"api_key": None}, "api_key is not set"),
        ({"api_key": ""}, "api_key is not set"),
        ({"api_key": "secret\n"}, "api_key must be ASCII without spaces around it"),
        ({"api_key": "seçret"}, "api_key must be ASCII without spaces around it"),
        ({"base_url": None}, "base_url is not set"),
        ({"base_url": "https://bikes.example/v1/"}, "base_url must not end with /v1"),
        ({"timeout": 0}, "timeout must be above 0"),
        ({"timeout": "secret"}, "timeout must be above 0"),
        ({"total_timeout": math.nan}, "total_timeout must be above 0"),
        ({"max_retries": -1}, "max_retries must be 0 or more"),
        ({"user_agent": "secret\r\nx: y"}, "user_agent must be ASCII without spaces around it"),
    ],
)
@pytest.mark.parametrize("kind", [BikeShare, AsyncBikeShare])
def test_rejects_a_wrong_option_by_its_name(kind: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        kind(**{"api_key": KEY, "base_url": "https://bikes.example", **options})
    assert str(caught.value) == message


def test_rejects_an_unknown_option_of_a_call(side: Side) -> None:
    script = Script(reply(RIDE))
    client = side.client(script)
    for options in ({"time_out": 3}, {"idempotency_key": "x"}):
        assert isinstance(side.caught(lambda: client.rides.get("r1", options=options)), UsageError)  # noqa: B023
    assert script.sent == []


@pytest.mark.parametrize("id", ["", ".", "..", None, 7])
def test_rejects_an_id_that_no_path_can_hold(side: Side, id: Any) -> None:
    script = Script(reply(RIDE))
    client = side.client(script)
    assert isinstance(side.caught(lambda: client.rides.get(id)), UsageError)
    assert script.sent == []


def test_a_request_has_its_path_filters_and_headers_and_the_key_in_its_header_alone(side: Side) -> None:
    script = Script(reply(RIDE), reply({"data": [], "page": 1, "total_pages": 1}), reply({"id": "x"}, 201))
    client = side.client(script, base_url="https://bikes.example/api/", user_agent="acme-planner/2.1")
    side.do(lambda: client.stations.get("a/b ?#%ü"))
    side.do(lambda: client.rides.list(status="completed", started_after="2026-01-01T00:00:00+01:00").first_page())
    side.do(lambda: client.reservations.create(bike_id="ü"))
    one, two, three = script.sent
    assert str(one.url) == "https://bikes.example/api/v1/stations/a%2Fb%20%3F%23%25%C3%BC"
    assert two.url.query == b"status=completed&started_after=2026-01-01T00%3A00%3A00%2B01%3A00"
    assert (three.content, three.headers["content-type"]) == ('{"bike_id":"ü"}'.encode(), "application/json")
    for sent in script.sent:
        headers = dict(sent.headers)
        assert headers.pop("authorization") == f"Bearer {KEY}"
        assert headers["user-agent"].startswith("acme-planner/2.1 bikeshare-sdk-python/")
        assert KEY not in f"{sent.url}{headers}{sent.content!r}"


def test_a_call_that_needs_no_key_sends_none(side: Side) -> None:
    script = Script(reply({"status": "ok"}))
    client = side.client(script)
    assert side.do(client.health.ready) == {"status": "ok"}
    assert "authorization" not in script.sent[0].headers


def test_fields_and_values_that_are_newer_than_the_package_are_there(side: Side) -> None:
    ride = {"id": "r1", "status": "levitating", "altitude": {"meters": 3}}
    client = side.client(Script(reply(ride)))
    assert side.do(lambda: client.rides.get("r1")) == ride


def test_a_key_function_is_called_before_each_request(side: Side) -> None:
    keys = ["first", "second", ""]
    script = Script(error(500, "internal"), reply(RIDE))
    client = side.client(script, api_key=lambda: keys.pop(0))
    side.do(lambda: client.rides.get("r1"))
    assert [sent.headers["authorization"] for sent in script.sent] == ["Bearer first", "Bearer second"]
    assert isinstance(side.caught(lambda: client.rides.get("r1")), UsageError)


def test_delays_grow_to_8_seconds_and_are_drawn_by_lot(side: Side) -> None:
    for random in (0.0, 0.5, 0.999):
        delays: list[float] = []
        hooks = Hooks(on_retry=lambda details: delays.append(details.delay))  # noqa: B023
        client = side.client(Script(DOWN), hooks=hooks, random=lambda: random, max_retries=6)  # noqa: B023
        assert side.caught(lambda: client.rides.get("r1")).attempts == 7  # noqa: B023
        assert delays == pytest.approx([most * random for most in (0.5, 1, 2, 4, 8, 8)])


def test_retries_end_when_the_budget_is_spent_and_ten_successes_earn_one_more(side: Side) -> None:
    is_up = False
    script = Script(lambda _: reply({"status": "ok"}) if is_up else error(500, "internal"))
    client = side.client(script)
    for _ in range(100):
        side.caught(client.health.live)
    # The budget's 20 retries, and each call's first attempt.
    assert len(script.sent) == 120
    is_up = True
    for _ in range(11):
        side.do(client.health.live)
    is_up = False
    script.sent.clear()
    for _ in range(10):
        side.caught(client.health.live)
    assert len(script.sent) == 11


@pytest.mark.parametrize("seconds", [1, 59, 3600, 31 * 86_400])
def test_retry_after_is_waited_for_and_never_less(side: Side, seconds: int) -> None:
    time = VirtualTime()
    script = Script(error(429, "rate_limited", {"retry-after": str(seconds)}), reply(RIDE))
    client = side.client(script, time=time, total_timeout=math.inf)
    side.do(lambda: client.rides.get("r1"))
    assert seconds <= time.now <= seconds + 0.25


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"date": "Mon, 01 Jun 2026 12:00:00 GMT", "retry-after": "Mon, 01 Jun 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Mon, 01 Jun 2026 12:00:30 GMT"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "1e3"}, None),
        ({"retry-after": "²"}, None),
    ],
)
def test_retry_after_is_read_as_a_number_or_as_a_date_by_the_response_s_own(
    side: Side, headers: dict[str, str], expected: float | None
) -> None:
    encoded = {name: value.encode("latin-1") for name, value in headers.items()}
    client = side.client(Script(error(503, "unavailable", encoded)), max_retries=0)  # type: ignore[arg-type]
    assert side.caught(lambda: client.rides.get("r1")).retry_after == expected


def test_a_call_ends_at_its_deadline_with_the_last_failure_as_the_cause(side: Side, time: VirtualTime) -> None:
    def slow(request: httpx.Request) -> httpx.Response:
        time.now += 3
        return error(503, "unavailable")

    client = side.client(slow, time=time, total_timeout=7, random=lambda: 0.999)
    failure = side.caught(lambda: client.rides.get("r1"))
    assert (type(failure), failure.attempts) == (bikeshare.ServerError, 2)
    client = side.client(Script(error(503, "unavailable"), httpx.ReadTimeout("")), total_timeout=2, random=lambda: 0.0)
    failure = side.caught(lambda: client.rides.get("r1"))
    assert (type(failure), failure.attempts, type(failure.__cause__)) == (
        bikeshare.TimeoutError,
        2,
        bikeshare.ServerError,
    )
    assert str(failure) == "GET /v1/rides/{id}: no response within 2 s"


def test_an_idempotency_key_is_made_once_for_a_call_kept_over_retries_and_told_by_the_error(side: Side) -> None:
    script = Script(DOWN, error(500, "internal"), reply({"id": "x"}, 201), reply({"id": "y"}, 201), DOWN)
    client = side.client(script)
    for _ in range(2):
        side.do(lambda: client.reservations.create(station_id="s1"))
    failure = side.caught(lambda: client.reservations.create(station_id="s1", options={"max_retries": 0}))
    keys = [sent.headers["idempotency-key"] for sent in script.sent]
    assert keys == [keys[0]] * 3 + keys[3:] and len(set(keys)) == 3
    assert len({sent.content for sent in script.sent}) == 1
    assert (type(failure), failure.idempotency_key) == (bikeshare.ConnectionError, keys[-1])


def test_an_idempotency_key_of_the_caller_s_is_used_and_a_wrong_one_refused(side: Side) -> None:
    script = Script(reply({"id": "x"}, 201))
    client = side.client(script)
    side.do(lambda: client.reservations.create(station_id="s1", options={"idempotency_key": "order-7"}))
    assert script.sent[0].headers["idempotency-key"] == "order-7"
    for wrong in ("", "a\nb"):
        call = {"station_id": "s1", "options": {"idempotency_key": wrong}}
        assert isinstance(side.caught(lambda: client.reservations.create(**call)), UsageError)  # noqa: B023
    assert len(script.sent) == 1


@pytest.mark.parametrize("body", ["<html>", "", "null", '"text"', "[]", '{"error":7,"message":{}}', "[" * 100_000])
def test_an_error_may_have_any_body(side: Side, body: str) -> None:
    client = side.client(Script(httpx.Response(502, text=body)), max_retries=0)
    failure = side.caught(lambda: client.rides.get("r1"))
    assert (type(failure), failure.code, failure.message) == (
        bikeshare.ServerError,
        None,
        "502 without an error code (a proxy?)",
    )


def test_an_error_has_all_that_is_known_and_can_be_copied_and_pickled(side: Side) -> None:
    client = side.client(Script(error(409, "no_bike_available", {"retry-after": "7"})))
    failure = side.caught(lambda: client.reservations.create(station_id="s1", options={"idempotency_key": "k"}))
    for one in (failure, copy.copy(failure), pickle.loads(pickle.dumps(failure))):
        assert isinstance(one, bikeshare.ConflictError) and isinstance(one, BikeShareError)
        assert vars(one) == {
            "message": "409 no_bike_available: Why no_bike_available.",
            "attempts": 1,
            "status": 409,
            "code": "no_bike_available",
            "request_id": "req-409",
            "retry_after": 7.0,
            "idempotency_key": "k",
        }


@pytest.mark.parametrize(
    "line",
    [
        reply({"error": f"no {KEY}", "message": f"Who is {KEY}?"}, 401),
        httpx.ConnectError(f"bad header Bearer {KEY}"),
        httpx.Response(500, text=KEY),
        reply([KEY], 203),
    ],
    ids=["the service repeats it", "the connection repeats it", "a page repeats it", "an answer that is none"],
)
def test_the_key_is_in_no_error_and_in_no_local_of_its_traceback(side: Side, line: Any) -> None:
    client = side.client(Script(line), max_retries=0)
    failure = side.caught(lambda: client.rides.get("r1"))
    assert isinstance(failure, BikeShareError)
    frames = traceback.TracebackException.from_exception(failure, capture_locals=True)
    ours = [frame for frame in frames.stack if "src/bikeshare" in frame.filename]
    assert len(ours) > 2
    assert KEY not in "".join([repr(failure), repr(vars(failure)), *(repr(frame.locals) for frame in ours)])
    assert failure.__cause__ is None and (failure.__context__ is None or KEY not in repr(failure.__context__))


def test_the_key_is_in_no_representation_of_a_client_and_not_shown_to_hooks(side: Side) -> None:
    seen: list[Any] = []
    hooks = Hooks(on_request=seen.append, on_response=seen.append, on_retry=seen.append, on_rate_limit=seen.append)
    script = Script(error(429, "rate_limited"), reply(RIDE, 200, {"request-id": "req-1"}))
    client = side.client(script, hooks=hooks)
    side.do(lambda: client.rides.get("r1"))
    assert [type(each).__name__ for each in seen] == [
        "RequestDetails",
        "ResponseDetails",
        "RateLimitDetails",
        "RetryDetails",
        "RequestDetails",
        "ResponseDetails",
    ]
    assert (seen[0].attempt, seen[4].attempt, seen[5].request_id, seen[5].status) == (1, 2, "req-1", 200)
    assert seen[0].headers["authorization"] == "Bearer [redacted]"
    assert KEY not in repr(seen) and KEY not in repr(client)


def test_an_exception_of_a_hook_ends_the_call(side: Side) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("a hook's own")

    client = side.client(Script(reply(RIDE)), hooks=Hooks(on_response=fail))
    assert str(side.caught(lambda: client.rides.get("r1"))) == "a hook's own"
    # The request does not count as in flight any more.
    assert client._driver._shared.rate_limiter._in_flight == 0


def test_a_redirect_is_not_followed_even_where_the_given_client_would() -> None:
    script = Script(httpx.Response(307, headers={"location": "https://evil.example/"}), reply(RIDE))
    with httpx.Client(transport=httpx.MockTransport(script), follow_redirects=True, auth=("user", "secret")) as http:
        client = BikeShare(base_url="https://bikes.example", api_key=KEY, http_client=http)
        with pytest.raises(bikeshare.UnexpectedResponseError, match="a redirect"):
            client.rides.get("r1")
        assert [sent.headers["authorization"] for sent in script.sent] == [f"Bearer {KEY}"]
        client.close()
        assert not http.is_closed


def test_a_response_that_never_ends_is_read_to_64_mib_and_no_further(side: Side) -> None:
    class Endless(httpx.SyncByteStream, httpx.AsyncByteStream):
        chunks = 0

        def __iter__(self) -> Iterator[bytes]:
            while True:
                Endless.chunks += 1
                yield b"x" * 2**20

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for chunk in self:
                yield chunk

    client = side.client(lambda _: httpx.Response(200, stream=Endless()), max_retries=0)
    error = side.caught(lambda: client.me.get())
    assert isinstance(error, bikeshare.ConnectionError)
    assert str(error) == "GET /v1/me: no response: the response is larger than 64 MiB"
    assert Endless.chunks == 65
