"""Walks lists: finds where the next page begins, and remembers how far a caller has read.

There are three kinds of lists. Most go on by the service's cursor, or by page numbers if the caller began with one. The list
of events is resumed by the id of the last event (`ListStart.after`). A followed list (`changes_since()`) ends with a
checkpoint, from which the next call goes on (`Position.since`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

from .._generated.routes import MAX_PAGE_SIZE
from ..errors import UnexpectedResponseError, UsageError
from .call import Reply
from .effects import Flow

Item = TypeVar("Item")

BEGINNING = "1970-01-01T00:00:00Z"
"""A value of `updated_since` that includes every item."""


@dataclass(frozen=True)
class Position:
    """A position in a list: a page, and how far the caller has read it. Without `cursor` and `page` it is the first page.

    A checkpoint is a position in JSON, with the field names of the TypeScript client.
    """

    cursor: str | None = None
    page: int | None = None
    limit: int | None = None
    """With `page`: the page size, because a page number depends on it."""
    offset: int = 0
    """How many items of the page the caller has got."""
    last_id: str | None = None
    """The id of the last item that the caller has got."""
    since: str | None = None
    """For a followed list (`changes_since()`, which a program calls again and again to learn what has changed): the
    checkpoint from which the walk began; empty if it began with all items. None for every other list."""


# The field names of a checkpoint, each with the attribute of a position.
_NAMES = {"cursor": "cursor", "page": "page", "limit": "limit", "offset": "offset", "lastId": "last_id", "since": "since"}


def format_position(position: Position) -> str:
    """Returns a position as a checkpoint."""
    fields = {name: getattr(position, attribute) for name, attribute in _NAMES.items()}
    return json.dumps({name: value for name, value in fields.items() if value is not None}, separators=(",", ":"))


def parse_checkpoint(text: object, is_followed: bool) -> Position:
    """Parses a checkpoint: a position as JSON, or a `next_cursor` of the service. For a followed list: a position, or a
    `checkpoint` of the service.

    :raises UsageError: for a value that is not a string, and for a position that was cut off. The service rejects other
        invalid checkpoints
    """
    wrong = UsageError("the checkpoint is not valid")
    if not isinstance(text, str):
        raise wrong
    if not text.startswith("{"):
        return Position(since=text) if is_followed else Position(cursor=text)
    try:
        fields = json.loads(text)
        return Position(**{attribute: fields[name] for name, attribute in _NAMES.items() if name in fields})
    except (ValueError, TypeError):
        raise wrong from None


@dataclass(frozen=True)
class Page(Generic[Item]):
    """One page of a list as the service returned it."""

    data: list[Item]
    """The page's items. The list may be empty although more pages follow."""
    page: int | None
    """Numbered paging: this page, counting from 1."""
    total_pages: int | None
    """Numbered paging: the number of pages."""
    next_cursor: str | None
    """Cursor paging: the next page, for `resume_from`; None or empty on the last."""
    checkpoint: str | None
    """On the last page of `changes_since()`: the checkpoint for the next call."""
    has_next_page: bool


@dataclass(frozen=True)
class Source:
    """The source of a list's pages."""

    operation: str
    request: Callable[[Mapping[str, object]], Flow[Reply]]
    """Requests the page of a query."""
    filters: Mapping[str, object]
    """The filters, which are the same for all pages."""


@dataclass(frozen=True)
class ListStart:
    """A list: the source of its pages, and where it begins."""

    source: Source
    start: Position
    after: str | None = None
    """For a list that is resumed by an item's id: the id after which it begins, or an empty string for all items. None
    for every other list."""

    def resume_from(self, checkpoint: object) -> ListStart:
        """Returns the list from a checkpoint on.

        :raises UsageError: when the checkpoint was cut off, or is empty. If an empty one meant the beginning, a program
            would read the list again and again
        """
        if not checkpoint:
            raise UsageError("the checkpoint is empty: is the list finished?")
        if self.after is not None:
            if not isinstance(checkpoint, str):
                raise UsageError("the checkpoint is not valid")
            return replace(self, start=Position(), after=checkpoint)
        return replace(self, start=parse_checkpoint(checkpoint, self.start.since is not None))

    def fetch(
        self, position: Position, is_iteration: bool, seen_cursor: str | None = None
    ) -> Flow[tuple[Page[Any], Position | None]]:
        """Fetches the page at a position. Returns it, and where the next page begins; None after the last page.

        :param is_iteration: whether all pages are read, not only this one
        :param seen_cursor: a cursor that the iteration has used, as in `_next_position`
        """
        filters: dict[str, object] = dict(self.source.filters)
        if self.after:
            filters["after"] = self.after
        query = _query_at(position, filters, is_iteration)
        reply = yield from self.source.request(query)
        body = reply.body

        def wrong_field(name: str) -> Exception:
            return UnexpectedResponseError(
                f"{self.source.operation}: unexpected response: wrong {name}",
                attempts=reply.attempts,
                request_id=reply.request_id,
            )

        next_position = _next_position(position, body, wrong_field, query.get("changes_since") is not None, seen_cursor)
        page: Page[Any] = Page(
            data=body["data"],
            page=body.get("page"),
            total_pages=body.get("total_pages"),
            next_cursor=body.get("next_cursor"),
            checkpoint=body.get("checkpoint"),
            has_next_page=next_position is not None,
        )
        return page, next_position


def _query_at(position: Position, filters: Mapping[str, object], is_iteration: bool) -> dict[str, object]:
    """Returns the query for the page at a position.

    :param is_iteration: whether all pages are read. Then the default page size is the largest one, because each page
        costs one request of the rate limit
    """
    size = cast("int | None", filters.get("limit"))
    if is_iteration:
        # At least `offset`: otherwise the page would lack the last item that the caller has got.
        size = max(MAX_PAGE_SIZE if size is None else size, position.offset)
    since: dict[str, object] = {}
    if position.since is not None:
        # The first walk has no checkpoint. It reads all items, as those that were updated since the beginning.
        since = {"changes_since": position.since} if position.since else {"updated_since": BEGINNING}
    # A page number is only valid with the page size of the first page.
    limit = position.limit if position.page else size
    return {**filters, **since, "cursor": position.cursor, "page": position.page, "limit": limit}


def _next_position(
    asked: Position,
    body: Mapping[str, Any],
    wrong_field: Callable[[str], Exception],
    is_by_changes: bool,
    seen_cursor: str | None,
) -> Position | None:
    """Returns where the page after a response begins; None when the list ends with this response. An incomplete response
    is an error and never the end, and an empty page may be in the middle of a list.

    :param is_by_changes: whether the list is read by `changes_since`, whose pages have no numbers
    :param seen_cursor: a cursor that the iteration has used. If it comes again, the list would never end, which is an
        error
    :raises Exception: the error of `wrong_field`, when the response is not the requested page
    """
    if not isinstance(body.get("data"), list):
        raise wrong_field("data")
    cursor = body.get("next_cursor", "")
    if not isinstance(cursor, str) or (cursor and cursor in (asked.cursor, seen_cursor)):
        raise wrong_field("next_cursor")
    # Without a checkpoint the program could not continue from here.
    if asked.since is not None and not cursor and not body.get("checkpoint"):
        raise wrong_field("checkpoint")
    # A page that was asked for without a cursor has a number.
    if not asked.cursor and not is_by_changes:
        page, total_pages, asked_page = body.get("page"), body.get("total_pages", 0), asked.page or 1
        if page != asked_page:
            raise wrong_field("page")
        if not isinstance(total_pages, int) or total_pages < asked_page:
            raise wrong_field("total_pages")
        if asked.page:
            return Position(page=asked_page + 1, limit=asked.limit) if total_pages > asked_page else None
        # The first page of a walk by cursor.
        if total_pages > 1 and not cursor:
            raise wrong_field("next_cursor")
    return Position(cursor=cursor, since=asked.since) if cursor else None


class Walk(Generic[Item]):
    """One iteration over a list. A failed step does not move it: the next step tries the same again."""

    def __init__(self, listed: ListStart) -> None:
        self._list = listed
        # Where the next page begins; None when there is no next page.
        self._next: Position | None = listed.start
        # The position of the last fetched page, its items, and how many of them were returned.
        self._position = Position()
        self._items: Sequence[Any] = ()
        self._offset = 0
        self._last_id: str | None = None
        # The checkpoint of the last page, from which the next iteration follows the list.
        self._end: str | None = None
        # Detects repeated cursors by Brent's algorithm: one cursor is remembered, and replaced by the present one after
        # 1, 2, 4, 8 … pages. So a loop of cursors is noticed after at most about three times as many pages as there are
        # before the loop or in it, whichever is more.
        self._seen_cursor: str | None = None
        self._pages = 0

    def has_items(self) -> bool:
        """Tells whether the next item was fetched already."""
        return self._offset < len(self._items)

    def take_item(self) -> Item:
        """Returns the next item. Call it only if `has_items`."""
        item = self._items[self._offset]
        self._offset += 1
        self._last_id = _id_of(item)
        return cast(Item, item)

    def next_page(self) -> Flow[Page[Item] | None]:
        """Fetches the next page and returns it; None at the end."""
        page = yield from self._advance()
        if page is None:
            return None
        self._offset = len(self._items)
        if self._items:
            self._last_id = _id_of(self._items[-1])
        return cast("Page[Item]", page)

    def next_items(self) -> Flow[bool]:
        """Fetches pages until there is an item. Returns false at the end."""
        while not self.has_items():
            if (yield from self._advance()) is None:
                return False
        return True

    def _advance(self) -> Flow[Page[Any] | None]:
        if self._next is None:
            return None
        page, next_position = yield from self._list.fetch(self._next, is_iteration=True, seen_cursor=self._seen_cursor)
        self._pages += 1
        is_power_of_two = self._pages & (self._pages - 1) == 0
        if is_power_of_two:
            self._seen_cursor = next_position.cursor if next_position else None
        self._position, self._next = self._next, next_position
        self._end, self._items = page.checkpoint, page.data
        # If the last returned item is no longer on the page, the whole page is returned again: repeating items is better
        # than losing some.
        ids = [_id_of(item) for item in self._items] if self._position.offset else []
        last_id = self._position.last_id
        self._offset = ids.index(last_id) + 1 if last_id in ids else 0
        return page

    def checkpoint(self) -> str | None:
        """Returns the position after the last returned item. When the iteration is finished: None, or the checkpoint of a
        followed list, or for events the id of the last one.
        """
        if self._list.after is not None:
            return self._checkpoint_by_id(self._list.after)
        is_followed = self._list.start.since is not None
        # In a followed list an item that changes again moves to the end. An offset into the page could then skip items,
        # so the whole page is returned again.
        begun_page = (
            self._position if is_followed else replace(self._position, offset=self._offset, last_id=self._last_id)
        )
        here = begun_page if self.has_items() else self._next
        if here is None:
            return self._end
        # On the first page of a followed list: the checkpoint from which the walk began.
        if is_followed and not here.cursor:
            return here.since or None
        return format_position(here)

    def _checkpoint_by_id(self, after: str) -> str | None:
        """Returns the id after which a later walk goes on: that of the last returned item, or without items that of the
        service's checkpoint, or the one from which this walk began.
        """
        # "now" is not returned after the first request, because a saved "now" would mean a later instant. If there was no
        # event yet, the next iteration begins with the oldest.
        begun = after if self._next or after != "now" else None
        return self._last_id or self._end or begun or None


def _id_of(item: object) -> str | None:
    value = cast("dict[str, object]", item).get("id") if isinstance(item, dict) else None
    return value if isinstance(value, str) else None
