"""Tests both clients on a running service. The same tests run with a live key and with the key of a sandbox."""

from __future__ import annotations

import re
import sqlite3
import uuid
from pathlib import Path
from typing import Any, get_args

import pytest
from conftest import IS_SANDBOX, KEY, URL, Side, needs_sandbox

from bikeshare import BikeShare, ConflictError, InvalidRequestError, NotFoundError, TimeoutError, UnauthorizedError
from bikeshare.sandbox import SandboxClient
from bikeshare.types import SandboxEventName, SandboxScenarioName

OF_THRESHOLDS = ("station.below_threshold", "station.back_to_normal")
"""Events that cannot be caused here, because they need a webhook with a threshold."""
README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


def a_bike(side: Side) -> Any:
    return side.do(lambda: side.client.bikes.list(vehicle_state="available").to_list(1))[0]


def test_all_items_of_a_list_come_once_in_pages_of_any_size(side: Side) -> None:
    ids = [station["id"] for station in side.items(side.client.stations.list(limit=7))]
    assert len(ids) == len(set(ids)) > 7
    assert ids == [station["id"] for station in side.items(side.client.stations.list())]
    page = side.do(lambda: side.client.stations.list(page=2, limit=2).first_page())
    assert (len(page.data), page.page) == (2, 2)


def test_an_interrupted_walk_is_finished_by_another_client(side: Side) -> None:
    walk = side.client.stations.list(limit=15)
    first = side.do(lambda: walk.to_list(20))
    rest = side.items(side.client.stations.list(limit=15).resume_from(walk.checkpoint()))
    all_ids = [station["id"] for station in side.items(side.client.stations.list())]
    assert [station["id"] for station in [*first, *rest]] == all_ids


def test_a_reservation_is_made_once_extended_and_cancelled_twice(side: Side) -> None:
    reservations, bike = side.client.reservations, a_bike(side)
    options = {"idempotency_key": str(uuid.uuid4())}
    held, again = (side.do(lambda: reservations.create(bike_id=bike["id"], hold_minutes=5, options=options)) for _ in "12")
    assert held == again and held["status"] == "active"
    error = side.raises(ConflictError, lambda: reservations.create(bike_id=bike["id"]))
    assert (error.code, error.attempts) == ("bike_not_available", 1)
    assert side.do(lambda: reservations.extend(held["id"], hold_minutes=5))["expires_at"] > held["expires_at"]
    cancelled = side.do(lambda: reservations.cancel(held["id"]))
    assert cancelled["status"] == "cancelled" and cancelled == side.do(lambda: reservations.cancel(held["id"]))


def test_changes_and_events_since_a_checkpoint_have_what_was_done(side: Side) -> None:
    changes, events = side.client.bikes.changes_since(None), side.client.events.since("now")
    assert len(side.items(changes)) > 7 and side.items(events) == []
    bike = a_bike(side)
    held = side.do(lambda: side.client.reservations.create(bike_id=bike["id"]))
    side.do(lambda: side.client.reservations.cancel(held["id"]))
    assert bike["id"] in [each["id"] for each in side.items(side.client.bikes.changes_since(changes.checkpoint()))]
    seen: list[str] = []
    # Events appear in the list a moment after they happen.
    for _ in range(200):
        events = side.client.events.since(events.checkpoint())
        seen += [event["event"] for event in side.items(events) if event["data"]["id"] == held["id"]]
        if len(seen) == 2:
            break
    assert seen == ["reservation.created", "reservation.cancelled"]


def test_errors_are_of_their_classes_and_show_no_key(side: Side) -> None:
    error = side.raises(NotFoundError, lambda: side.client.rides.get("nobody's"))
    assert (error.code, error.attempts) == ("not_found", 1) and error.request_id
    side.raises(InvalidRequestError, lambda: side.client.rides.list(page=9999).first_page())
    with BikeShare(base_url=URL, api_key=f"{KEY[:-1]}{'a' if KEY[-1] != 'a' else 'b'}") as stranger:
        with pytest.raises(UnauthorizedError) as refused:
            stranger.me.get()
    assert KEY[:-1] not in str(refused.value)


def test_the_mirror_of_the_readme_keeps_a_copy_of_the_stations(tmp_path: Path) -> None:
    program = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)[0]
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(program, "README.md", "exec", dont_inherit=True), names)
    copy = sqlite3.connect(tmp_path / "stations.db")
    with BikeShare(base_url=URL, api_key=KEY) as client:
        names["mirror"](client, copy)
        station = client.bikes.list(vehicle_state="available").to_list(1)[0]["station_id"]
        held = client.reservations.create(station_id=str(station))
        assert names["mirror"](client, copy) >= 1
        reserved = "select json_extract(station, '$.num_bikes_reserved') from stations where id = ?"
        assert copy.execute(reserved, [station]).fetchone()[0] >= 1
        client.reservations.cancel(held["id"])
        names["mirror"](client, copy)
        assert copy.execute("select count(*) from stations").fetchone()[0] == len(list(client.stations.list()))
    copy.close()


@needs_sandbox
@pytest.mark.parametrize("status", [429, 500, 503])
def test_calls_survive_what_the_api_answers_for_a_while(side: Side, status: Any) -> None:
    sandbox, bike = side.client.sandbox, a_bike(side)
    side.do(lambda: sandbox.add_fault(status=status, route="POST /v1/reservations", count=1))
    side.do(lambda: sandbox.add_fault(status=status, route="GET /v1/stations", count=1))
    try:
        reference = f"survived-{uuid.uuid4()}"
        held = side.do(lambda: side.client.reservations.create(bike_id=bike["id"], rider_ref=reference))
        assert len(side.items(side.client.stations.list(limit=20))) == 40
        made = side.items(side.client.reservations.list(rider_ref=reference))
        assert [each["id"] for each in made] == [held["id"]]
        side.do(lambda: side.client.reservations.cancel(held["id"]))
    finally:
        assert side.do(sandbox.end_faults) == {"faults": []}


@needs_sandbox
def test_a_call_that_gets_no_answer_is_sent_again(side: Side) -> None:
    side.do(lambda: side.client.sandbox.add_fault(status="timeout", route="GET /v1/regions", count=1))
    try:
        once: Any = {"timeout": 1, "max_retries": 0}
        side.raises(TimeoutError, lambda: side.client.regions.list(options=once).first_page())
        side.do(lambda: side.client.sandbox.add_fault(status="timeout", route="GET /v1/regions", count=1))
        assert side.do(lambda: side.client.regions.list(options={"timeout": 1}).first_page()).data
    finally:
        side.do(side.client.sandbox.end_faults)


@needs_sandbox
def test_time_passes_and_a_reservation_has_expired_when_the_clock_is_ready(side: Side) -> None:
    bike = a_bike(side)
    held = side.do(lambda: side.client.reservations.create(bike_id=bike["id"]))
    clock = side.do(lambda: side.client.sandbox.advance_and_wait(seconds=900))
    assert clock["ready"] and clock["advanced_seconds"] >= 900
    assert side.do(lambda: side.client.reservations.get(held["id"]))["status"] == "expired"


@needs_sandbox
def test_the_program_of_the_readme_on_sandboxes(capsys: pytest.CaptureFixture[str]) -> None:
    program = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)[3]
    exec(compile(program, "README.md", "exec", dont_inherit=True), {"base_url": URL, "api_key": KEY})
    assert capsys.readouterr().out == "expired\n"


@needs_sandbox
def test_every_event_and_scenario_can_be_triggered(side: Side) -> None:
    sandbox = side.client.sandbox
    side.do(lambda: sandbox.reset(seed=7))
    for event in get_args(SandboxEventName):
        if event in OF_THRESHOLDS:
            error = side.raises(NotFoundError, lambda event=event: sandbox.trigger(event))
            assert "Set one first" in error.message
            continue
        assert side.do(lambda event=event: sandbox.trigger(event))["event"] == event
    for scenario in get_args(SandboxScenarioName):
        assert side.do(lambda scenario=scenario: sandbox.scenario(scenario))["steps"]
    side.do(lambda: sandbox.set_webhook_faults())
    status = side.do(lambda: sandbox.show())
    assert (status["seed"], status["stations"]) == (7, 40) and status["rides"] > 10


@pytest.mark.skipif(IS_SANDBOX, reason="its key is not live")
def test_a_live_key_is_refused_by_the_client_and_by_the_service() -> None:
    with pytest.raises(Exception, match="begins with bss_test_"):
        SandboxClient(base_url=URL, api_key=KEY)
    with SandboxClient(base_url=URL, api_key=lambda: KEY) as client:
        with pytest.raises(Exception, match="begins with bss_test_"):
            client.sandbox.show()
