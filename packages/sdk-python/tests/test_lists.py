"""Lists: all items of all pages once, from anywhere on, and what has changed since."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import anyio
import httpx
import pytest
from harness import AsyncSide, Fake, Script, Side, error, reply

import bikeshare
from bikeshare import UsageError


def some(count: int) -> list[dict[str, str]]:
    return [{"id": f"i{n}"} for n in range(count)]


class Listed:
    """Returns a handler that serves a list of items as the service does, by cursor and by page number."""

    def __init__(self, items: list[dict[str, str]], fails: Callable[[], bool] = lambda: False) -> None:
        self.items = items
        self._fails = fails
        self.searches: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.searches.append(request.url.query.decode())
        if self._fails():
            return error(500, "internal")
        query = request.url.params
        limit = min(int(query.get("limit", 50)), 200)
        page, cursor = int(query.get("page", 1)), query.get("cursor")
        # A cursor contains the last item's position, so items that are inserted above do not move it.
        ids = [item["id"] for item in self.items]
        start = (page - 1) * limit if cursor is None else ids.index(cursor) + 1
        body: dict[str, Any] = {"data": self.items[start : start + limit]}
        if cursor is None:
            body.update(page=page, total_pages=max(1, -(-len(self.items) // limit)))
        if start + limit < len(self.items) and "page" not in query:
            body["next_cursor"] = body["data"][-1]["id"]
        return reply(body)


def test_sends_nothing_before_it_is_read(side: Side) -> None:
    listed = Listed(some(3))
    side.client(listed).rides.list()
    assert listed.searches == []


def test_its_first_page_is_as_the_service_answers_it(side: Side) -> None:
    listed = Listed(some(60))
    page = side.do(lambda: side.client(listed).rides.list(status="completed").first_page())
    assert (page.data, page.page, page.total_pages, page.next_cursor) == (some(50), 1, 2, "i49")
    assert page.has_next_page
    assert listed.searches == ["status=completed"]


@pytest.mark.parametrize("limit", [None, 1, 7, 199, 250])
@pytest.mark.parametrize("page", [None, 1])
@pytest.mark.parametrize("count", [0, 1, 200, 201])
def test_gives_every_item_once_in_order_whatever_the_page_sizes(
    side: Side, count: int, limit: int | None, page: int | None
) -> None:
    listed = side.client(Listed(some(count)), total_timeout=1e9).rides.list(limit=limit, page=page)
    assert side.items(listed) == some(count)
    assert [item for each in side.items(listed.pages()) for item in each.data] == some(count)


def test_is_iterated_in_pages_as_large_as_allowed_or_of_the_given_size(side: Side) -> None:
    listed = Listed(some(450))
    client = side.client(listed)
    side.items(client.rides.list())
    side.items(client.rides.list(limit=300))
    side.items(client.rides.list(page=9))
    assert listed.searches == [
        "limit=200",
        "limit=200&cursor=i199",
        "limit=200&cursor=i399",
        "limit=300",
        "limit=300&cursor=i199",
        "limit=300&cursor=i399",
        "page=9",
    ]


def test_to_list_has_at_most_limit_items_and_a_checkpoint_for_the_rest(side: Side) -> None:
    client = side.client(Listed(some(250)))
    listed = client.rides.list()
    assert side.do(lambda: listed.to_list(limit=210)) == some(210)
    rest = client.rides.list().resume_from(listed.checkpoint())
    assert side.do(rest.to_list) == some(250)[210:]
    assert rest.checkpoint() is None
    for wrong in (0, -1, float("nan")):
        assert isinstance(side.caught(lambda: listed.to_list(limit=wrong)), UsageError)  # noqa: B023


def test_an_iterator_continues_where_it_failed_and_loses_and_repeats_nothing(side: Side) -> None:
    for seed in range(15):
        lot = random.Random(seed)
        count = lot.randrange(60)
        client = side.client(Listed(some(count), lambda: lot.random() < 0.4), max_retries=0)  # noqa: B023
        walk: Any = client.rides.list(limit=7)
        walk = walk.__aiter__() if side.is_async else iter(walk)
        seen: list[Any] = []

        def step() -> Any:
            return walk.__anext__() if side.is_async else next(walk)  # noqa: B023

        while True:
            try:
                seen.append(side.do(step))
            except (StopIteration, StopAsyncIteration):
                break
            except bikeshare.ServerError:
                continue
            except RuntimeError as ended:
                # An executor turns StopAsyncIteration into a RuntimeError.
                assert isinstance(ended.__cause__, StopAsyncIteration)
                break
        assert seen == some(count)


def test_a_checkpoint_continues_after_the_last_item_at_any_position_in_pages_of_any_size(side: Side) -> None:
    for seed in range(40):
        lot = random.Random(seed)
        count, limit, later = lot.randint(1, 60), lot.randint(1, 20), lot.randint(1, 20)
        client = side.client(Listed(some(count)))
        listed = client.rides.list(limit=limit, page=lot.choice([None, 1]))
        first = side.do(lambda: listed.to_list(limit=lot.randint(1, count)))  # noqa: B023
        checkpoint = listed.checkpoint()
        following = client.rides.list(limit=later)
        rest = side.items(following.resume_from(checkpoint)) if checkpoint else []
        assert first + rest == some(count)


def test_a_checkpoint_loses_nothing_when_items_are_inserted_before_it_and_its_own_is_gone(side: Side) -> None:
    listed = Listed(some(30))
    client = side.client(listed)
    walk = client.rides.list(limit=10)
    first = side.do(lambda: walk.to_list(limit=15))
    listed.items = [{"id": "new"}, *(item for item in some(30) if item["id"] != "i14")]
    rest = side.items(client.rides.list(limit=10).resume_from(walk.checkpoint()))
    assert {item["id"] for item in some(30)} <= {item["id"] for item in first + rest}


def test_checkpoints_of_the_typescript_client_are_understood(side: Side) -> None:
    client = side.client(Listed(some(30)))
    checkpoint = '{"cursor":"i9","offset":3,"lastId":"i12"}'
    assert side.items(client.rides.list(limit=10).resume_from(checkpoint)) == some(30)[13:]


@pytest.mark.parametrize("wrong", ["", None, '{"cursor":', "{", '{"a":1', 7, {}])
def test_rejects_what_is_no_checkpoint(side: Side, wrong: Any) -> None:
    with pytest.raises(UsageError):
        side.client(Listed(some(3))).rides.list().resume_from(wrong)


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ({}, {"page": 1, "total_pages": 1}),
        ({}, {"data": {}, "page": 1, "total_pages": 1}),
        ({}, {"data": [], "total_pages": 1}),
        ({}, {"data": [], "page": 1}),
        ({}, {"data": [], "page": 1, "total_pages": 2}),
        ({"page": 2}, {"data": [], "page": 1, "total_pages": 3}),
        ({"page": 2}, {"data": [], "page": 2, "total_pages": 1}),
        ({"cursor": "c"}, {"data": [], "next_cursor": None}),
        ({"cursor": "c"}, {"data": [], "next_cursor": "c"}),
    ],
)
def test_a_response_that_is_not_the_requested_page_is_an_error_and_not_the_end(
    side: Side, query: dict[str, Any], body: dict[str, Any]
) -> None:
    client = side.client(Script(reply(body)))
    assert type(side.caught(lambda: client.rides.list(**query).to_list())) is bikeshare.UnexpectedResponseError


def test_cursors_that_repeat_end_the_walk_within_three_times_the_length_of_their_loop(side: Side) -> None:
    for lead, length in itertools.product((0, 1, 9), (1, 2, 13)):

        def answer(request: httpx.Request) -> httpx.Response:
            at = int(request.url.params.get("cursor", 0))
            following = at + 1 if at + 1 < lead + length else max(lead, 1)  # noqa: B023
            first = {} if at else {"page": 1, "total_pages": 9}
            return reply({"data": [{"id": f"i{at}"}], **first, "next_cursor": str(following)})

        script = Script(answer)
        client = side.client(script, total_timeout=1e9)
        failure = side.caught(lambda: client.rides.list(limit=1).to_list())  # noqa: B023
        assert str(failure) == "GET /v1/rides: unexpected response: wrong next_cursor"
        assert len(script.sent) <= 3 * (lead + length) + 2


def test_goes_on_after_an_empty_page_in_the_middle(side: Side) -> None:
    pages = [reply({"data": [], "page": 1, "total_pages": 2, "next_cursor": "c"}), reply({"data": [{"id": "x"}]})]
    assert side.items(side.client(Script(*pages)).rides.list()) == [{"id": "x"}]


def test_flows_are_walked_page_by_page(side: Side) -> None:
    pages = [reply({"data": [{"rides": 7}], "next_cursor": "c"}), reply({"data": [{"rides": 8}]})]
    script = Script(*pages)
    assert side.items(side.client(script).flows.all(from_="2026-03-01")) == [{"rides": 7}, {"rides": 8}]
    assert [sent.url.query for sent in script.sent] == [b"from=2026-03-01", b"from=2026-03-01&cursor=c"]


def test_tasks_may_share_an_iterator() -> None:
    side = AsyncSide()
    listed = Listed(some(40))
    walk = side.client(listed).rides.list(limit=10).__aiter__()
    seen: list[Any] = []

    async def take() -> None:
        async for item in walk:
            seen.append(item)
            await anyio.lowlevel.checkpoint()

    async def work() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(take)

    side.do(work)
    side.close()
    assert sorted(item["id"] for item in seen) == sorted(item["id"] for item in some(40))
    assert len(listed.searches) == 4


def test_changes_are_followed_from_everything_on_and_each_time_those_since(fake: Fake, side: Side) -> None:
    client = side.client(base_url=fake.url, api_key=fake.key)
    station = fake.station()
    everything = client.stations.changes_since(None)
    copy = {each["id"]: each for each in side.items(everything)}
    fake.tell("/bikes", {"id": fake.name("bike"), "station_id": station})
    changes = client.stations.changes_since(everything.checkpoint())
    changed = side.items(changes)
    assert [each["id"] for each in changed] == [station]
    assert copy[station]["num_bikes_available"] == 0 and changed[0]["num_bikes_available"] == 1
    assert side.items(client.stations.changes_since(changes.checkpoint())) == []


def test_a_walk_of_changes_that_was_interrupted_is_finished_and_leaves_nothing_out(fake: Fake, side: Side) -> None:
    client = side.client(base_url=fake.url, api_key=fake.key)
    bike = fake.rides(9)
    seen: list[str] = []
    checkpoint = None
    for _ in range(20):
        listed = client.rides.changes_since(checkpoint, limit=4, bike_id=bike)
        taken = [ride["id"] for ride in side.do(lambda: listed.to_list(limit=5))]  # noqa: B023
        seen.extend(taken)
        checkpoint = listed.checkpoint()
        if len(taken) < 5:
            break
    assert len(set(seen)) == 9
    assert checkpoint is not None and not checkpoint.startswith("{")


def test_events_are_followed_from_now_on_and_since_a_checkpoint_each_once(fake: Fake, side: Side) -> None:
    client = side.client(base_url=fake.url, api_key=fake.key)
    begun = client.events.since("now")
    assert side.items(begun) == []
    station = fake.station(bikes=1)
    held = side.do(lambda: client.reservations.create(station_id=station))
    side.do(lambda: client.reservations.cancel(held["id"]))
    fake.tell("/events", {"event": "ride.levitated"})
    since = client.events.since(begun.checkpoint())
    events = [event for event in side.items(since) if event["event"] != "bike.state_changed"]
    assert [event["event"] for event in events] == ["reservation.created", "reservation.cancelled", "ride.levitated"]
    assert side.items(client.events.since(since.checkpoint())) == []
    assert since.checkpoint() == events[-1]["id"]
    only = side.do(lambda: client.events.since(events[0]["id"], event="reservation.cancelled").to_list(limit=1))
    assert only == [events[1]]


def test_a_lost_checkpoint_is_an_error_of_its_own_and_a_mistyped_one_is_not(fake: Fake, side: Side) -> None:
    client = side.client(base_url=fake.url, api_key=fake.key)
    for checkpoint, expected in [
        ("event_of_long_ago", bikeshare.CheckpointLostError),
        ("garbage", bikeshare.InvalidRequestError),
    ]:
        assert type(side.caught(lambda: client.events.since(checkpoint).to_list())) is expected  # noqa: B023
    assert side.caught(lambda: client.bikes.changes_since("made-up").to_list()).code == "invalid_cursor"
