"""Uses of this package for type checkers. The file is checked and not run. Marked lines must be errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Union

from bikeshare import AsyncBikeShare, BikeShare
from bikeshare.sandbox import AsyncSandboxClient, SandboxClient
from bikeshare.types import Delivery, Reservation, Ride, SandboxClock, Station, StationAt

if TYPE_CHECKING:
    from typing_extensions import assert_type


def lists(client: BikeShare) -> None:
    for station in client.stations.list(status="online", limit=20):
        assert_type(station, StationAt)
        assert_type(station["num_docks_available"], Optional[int])
        same: Station = station
        print(same["name"])
        station["wheels"]  # type: ignore[typeddict-item]  # pyright: ignore[reportGeneralTypeIssues]
    assert_type(client.rides.list().first_page().data, list[Ride])
    assert_type(client.bikes.changes_since(None).checkpoint(), Optional[str])


def an_enum_value_may_be_new_in_what_is_answered_and_not_in_what_is_asked(client: BikeShare) -> None:
    ride = client.rides.get("x")
    if ride["status"] == "levitating":
        print(ride["id"])
    client.rides.list(status="levitating")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.rides.list(state="completed")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def the_name_of_an_event_tells_what_data_holds(delivery: Delivery) -> Union[int, str, None]:
    if delivery["event"] == "ride.completed":
        assert_type(delivery["data"], Ride)
        return delivery["data"]["duration_seconds"]
    if delivery["event"] == "reservation.expired":
        return delivery["data"]["bike_id"]
    return None


async def tasks(client: AsyncBikeShare) -> None:
    async for ride in client.rides.list():
        assert_type(ride, Ride)
    held = await client.reservations.create(bike_id="x", options={"idempotency_key": "k", "timeout": 3})
    assert_type(held, Reservation)
    await client.reservations.cancel(held["id"], options={"idempotency_key": "k"})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def sandboxes(client: SandboxClient) -> None:
    assert_type(client.sandbox.advance_and_wait(seconds=1), SandboxClock)
    assert_type(client.rides.get("x"), Ride)
    client.sandbox.trigger("ride.ended")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.sandbox.scenario("rush")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.sandbox.add_fault(status=404)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def tasks_in_sandboxes(client: AsyncSandboxClient) -> None:
    async with client as entered:
        assert_type(await entered.sandbox.wait_until_ready(), SandboxClock)
