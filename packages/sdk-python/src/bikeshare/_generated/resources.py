"""The methods of the resources, for threads and for tasks."""

# Made from the OpenAPI document by `pnpm --filter @bikeshare/sdk-python run generate`. Do not edit here.

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Literal, cast

from .routes import (
    ALERTS_GET,
    ALERTS_LIST,
    BIKES_GET,
    BIKES_LIST,
    DELIVERIES_GET,
    DELIVERIES_LIST,
    DELIVERIES_RESEND,
    EVENTS_GET,
    EVENTS_LIST,
    EXPORTS_GET,
    EXPORTS_LIST,
    FLOWS_LIST,
    HEALTH_LIVE,
    HEALTH_READY,
    ME_GET,
    REGIONS_LIST,
    RESERVATIONS_CANCEL,
    RESERVATIONS_CREATE,
    RESERVATIONS_EXTEND,
    RESERVATIONS_GET,
    RESERVATIONS_LIST,
    RIDES_GET,
    RIDES_LIST,
    SANDBOX_ADD_FAULT,
    SANDBOX_ADVANCE,
    SANDBOX_CLOCK,
    SANDBOX_END_FAULTS,
    SANDBOX_RESET,
    SANDBOX_SCENARIO,
    SANDBOX_SET_WEBHOOK_FAULTS,
    SANDBOX_SHOW,
    SANDBOX_TRIGGER,
    STATIONS_FORECAST,
    STATIONS_GET,
    STATIONS_HISTORY,
    STATIONS_LIST,
    STATIONS_TYPICAL,
    SYSTEM_SUMMARY,
    VEHICLE_TYPES_LIST,
)

if TYPE_CHECKING:
    from .._async import AsyncApi, AsyncList
    from .._sync import List, SyncApi
    from ..options import IdempotentRequestOptions, RequestOptions
    from ..types import (
        Alert,
        Bike,
        DeliveryDetail,
        DeliveryRecord,
        DeliveryRecordList,
        EventName,
        EventRecord,
        Export,
        ExportFormat,
        ExportKind,
        Flow,
        FlowList,
        ForecastHorizon,
        Health,
        HistoryStepLength,
        Me,
        Region,
        Resend,
        Reservation,
        ReservationStatus,
        Ride,
        RideStatus,
        SandboxClock,
        SandboxEvent,
        SandboxEventName,
        SandboxFaults,
        SandboxScenario,
        SandboxScenarioName,
        SandboxStatus,
        SandboxWebhookFaults,
        StationAt,
        StationForecast,
        StationHistory,
        StationStatus,
        StationTypical,
        SummaryStepLength,
        SystemSummary,
        VehicleState,
        VehicleType,
    )


class StationsResource:
    """Places where bikes are rented and returned."""

    def __init__(self, api: SyncApi) -> None:
        self._api = api

    def list(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        at: str | None = None,
        status: StationStatus | None = None,
        region_id: str | None = None,
        bbox: str | None = None,
        updated_since: str | None = None,
        changes_since: str | None = None,
        options: RequestOptions | None = None,
    ) -> List[StationAt]:
        """List stations.

        Stations by id.

        Needs a key with the scope `stations:read`; with `at` the scope `history:read` too.
        """
        query: dict[str, object] = {
            "page": page,
            "limit": limit,
            "cursor": cursor,
            "at": at,
            "status": status,
            "region_id": region_id,
            "bbox": bbox,
            "updated_since": updated_since,
            "changes_since": changes_since,
        }
        return self._api.list(STATIONS_LIST, query, options)

    def changes_since(
        self,
        checkpoint: str | None,
        *,
        limit: int | None = None,
        at: str | None = None,
        status: StationStatus | None = None,
        region_id: str | None = None,
        bbox: str | None = None,
        options: RequestOptions | None = None,
    ) -> List[StationAt]:
        """Everything that has changed since a checkpoint, each item as it is now. Without a checkpoint: all items.
        No change is missed, whatever changes meanwhile and even if clocks are wrong; a recent change may come
        twice. When the iteration has ended, keep the `checkpoint()` of the list for the next one. A checkpoint
        kept earlier continues an iteration that was interrupted. Do not filter by fields that change: an item
        that no longer passes the filter is not shown.

        :raises CheckpointLostError: in the iteration, when changes may be missing: begin again without a
        checkpoint.
        """
        query: dict[str, object] = {"limit": limit, "at": at, "status": status, "region_id": region_id, "bbox": bbox}
        return self._api.changes(STATIONS_LIST, checkpoint, query, options)

    def typical(self, id: str, *, options: RequestOptions | None = None) -> StationTypical:
        """A station's usual day.

        Bikes and docks by kind of day and quarter of an hour, of the last 8 weeks. While fewer than 21 days are
        known, `data` is empty, and `ready_at` says when enough will be known.

        Needs a key with the scope `history:read`.
        """
        answer = self._api.call(STATIONS_TYPICAL, options, id=id)
        return cast("StationTypical", answer)

    def forecast(
        self,
        id: str,
        *,
        horizon: ForecastHorizon | None = None,
        options: RequestOptions | None = None,
    ) -> StationForecast:
        """A station's forecast.

        How many bikes and docks there will be, and the probability of at least one, from how the station changed
        at this time on days of this kind, once 28 days are known. `score` compares such forecasts with assuming
        no change; where they were no better, `method` is `as_now` and the forecast is the number of now.

        Needs a key with the scope `history:read`.
        """
        query: dict[str, object] = {"horizon": horizon}
        answer = self._api.call(STATIONS_FORECAST, options, id=id, query=query)
        return cast("StationForecast", answer)

    def get(self, id: str, *, at: str | None = None, options: RequestOptions | None = None) -> StationAt:
        """One station.

        Needs a key with the scope `stations:read`; with `at` the scope `history:read` too.
        """
        query: dict[str, object] = {"at": at}
        answer = self._api.call(STATIONS_GET, options, id=id, query=query)
        return cast("StationAt", answer)

    def history(
        self,
        id: str,
        *,
        from_: str | None = None,
        to: str | None = None,
        step: HistoryStepLength | None = None,
        options: RequestOptions | None = None,
    ) -> StationHistory:
        """A station over time.

        Bikes and docks in each step of time, and for how long the station was empty, full or offline. Kept for
        397 days; at most 3000 steps at once.

        Needs a key with the scope `history:read`.
        """
        query: dict[str, object] = {"from": from_, "to": to, "step": step}
        answer = self._api.call(STATIONS_HISTORY, options, id=id, query=query)
        return cast("StationHistory", answer)


class VehicleTypesResource:
    """The vehicle types that stations, bikes and rides name by id."""

    def __init__(self, api: SyncApi) -> None:
        self._api = api

    def list(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        options: RequestOptions | None = None,
    ) -> List[VehicleType]:
        """List vehicle types.

        The vehicle types that stations, bikes and rides name by id, sorted by id.

        Needs a key with the scope `stations:read`.
        """
        query: dict[str, object] = {"page": page, "limit": limit, "cursor": cursor}
        return self._api.list(VEHICLE_TYPES_LIST, query, options)


class RegionsResource:
    """The regions that stations name by id."""

    def __init__(self, api: SyncApi) -> None:
        self._api = api

    def list(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        options: RequestOptions | None = None,
    ) -> List[Region]:
        """List regions.

        The regions that stations name by id, sorted by id.

        Needs a key with the scope `stations:read`.
        """
        query: dict[str, object] = {"page": page, "limit": limit, "cursor": cursor}
        return self._api.list(REGIONS_LIST, query, options)


class AlertsResource:
    """What riders should know: closures, moves, disturbances."""

    def __init__(self, api: SyncApi) -> None:
        self._api = api

    def list(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        options: RequestOptions | None = None,
    ) -> List[Alert]:
        """List alerts.

        What riders should know now: the open alerts, by id.

        Needs a key with the scope `stations:read`.
        """
        query: dict[str, object] = {"page": page, "limit": limit, "cursor": cursor}
        return self._api.list(ALERTS_LIST, query, options)

    def get(self, id: str, *, options: RequestOptions | None = None) -> Alert:
        """One alert.

        An open alert, or one that ended in the last 90 days.

        Needs a key with the scope `stations:read`.
        """
        answer = self._api.call(ALERTS_GET, options, id=id)
        return cast("Alert", answer)


class RidesResource:
    """A bike's trip from start to end. Who rode is never shown."""

    def __init__(self, api: SyncApi) -> None:
        self._api = api

    def list(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        status: RideStatus | None = None,
        bike_id: str | None = None,
        station_id: str | None = None,
        started_after: str | None = None,
        started_before: str | None = None,
        updated_since: str | None = None,
        changes_since: str | None = None,
        options: RequestOptions | None = None,
    ) -> List[Ride]:
        """List rides.

        Rides by `started_at`, newest first; the id breaks ties.

        Needs a key with the scope `rides:read`.
        """
        query: dict[str, object] = {
            "page": page,
            "limit": limit,
            "cursor": cursor,
            "status": status,
            "bike_id": bike_id,
            "station_id": station_id,
            "started_after": started_after,
            "started_before": started_before,
            "updated_since": updated_since,
            "changes_since": changes_since,
        }
        return self._api.list(RIDES_LIST, query, options)

    def changes_since(
        self,
        checkpoint: str | None,
        *,
        limit: int | None = None,
        status: RideStatus | None = None,
        bike_id: str | None = None,
        station_id: str | None = None,
        started_after: str | None = None,
        started_before: str | None = None,
        options: RequestOptions | None = None,
    ) -> List[Ride]:
        """Everything that has changed since a checkpoint, each item as it is now. Without a checkpoint: all items.
        No change is missed, whatever changes meanwhile and even if clocks are wrong; a recent change may come
        twice. When the iteration has ended, keep the `checkpoint()` of the list for the next one. A checkpoint
        kept earlier continues an iteration that was interrupted. Do not filter by fields that change: an item
        that no longer passes the filter is not shown.

        :raises CheckpointLostError: in the iteration, when changes may be missing: begin again without a
        checkpoint.
        """
        query: dict[str, object] = {
            "limit": limit,
            "status": status,
            "bike_id": bike_id,
            "station_id": station_id,
            "started_after": started_after,
            "started_before": started_before,
        }
        return self._api.changes(RIDES_LIST, checkpoint, query, options)

    def get(self, id: str, *, options: RequestOptions | None = None) -> Ride:
        """One ride.

        Needs a key with the scope `rides:read`.
        """
        answer = self._api.call(RIDES_GET, options, id=id)
        return cast("Ride", answer)


class BikesResource:
    """Bikes, and other vehicles that are shared the same way."""

    def __init__(self, api: SyncApi) -> None:
        self._api = api

    def list(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        vehicle_state: VehicleState | None = None,
        station_id: str | None = None,
        bbox: str | None = None,
        updated_since: str | None = None,
        changes_since: str | None = None,
        options: RequestOptions | None = None,
    ) -> List[Bike]:
        """List bikes.

        Bikes by id.

        Needs a key with the scope `bikes:read`.
        """
        query: dict[str, object] = {
            "page": page,
            "limit": limit,
            "cursor": cursor,
            "vehicle_state": vehicle_state,
            "station_id": station_id,
            "bbox": bbox,
            "updated_since": updated_since,
            "changes_since": changes_since,
        }
        return self._api.list(BIKES_LIST, query, options)

    def changes_since(
        self,
        checkpoint: str | None,
        *,
        limit: int | None = None,
        vehicle_state: VehicleState | None = None,
        station_id: str | None = None,
        bbox: str | None = None,
        options: RequestOptions | None = None,
    ) -> List[Bike]:
        """Everything that has changed since a checkpoint, each item as it is now. Without a checkpoint: all items.
        No change is missed, whatever changes meanwhile and even if clocks are wrong; a recent change may come
        twice. When the iteration has ended, keep the `checkpoint()` of the list for the next one. A checkpoint
        kept earlier continues an iteration that was interrupted. Do not filter by fields that change: an item
        that no longer passes the filter is not shown.

        :raises CheckpointLostError: in the iteration, when changes may be missing: begin again without a
        checkpoint.
        """
        query: dict[str, object] = {
            "limit": limit,
            "vehicle_state": vehicle_state,
            "station_id": station_id,
            "bbox": bbox,
        }
        return self._api.changes(BIKES_LIST, checkpoint, query, options)

    def get(self, id: str, *, options: RequestOptions | None = None) -> Bike:
        """One bike.

        Needs a key with the scope `bikes:read`.
        """
        answer = self._api.call(BIKES_GET, options, id=id)
        return cast("Bike", answer)


class ReservationsResource:
    """Bikes held for your riders, for some minutes from now. You see your own only."""

    def __init__(self, api: SyncApi) -> None:
        self._api = api

    def list(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        status: ReservationStatus | None = None,
        rider_ref: str | None = None,
        bike_id: str | None = None,
        ride_id: str | None = None,
        updated_since: str | None = None,
        changes_since: str | None = None,
        options: RequestOptions | None = None,
    ) -> List[Reservation]:
        """List reservations.

        Your own reservations by `created_at`, newest first; the id breaks ties.

        Needs a key with the scope `reservations:read`.
        """
        query: dict[str, object] = {
            "page": page,
            "limit": limit,
            "cursor": cursor,
            "status": status,
            "rider_ref": rider_ref,
            "bike_id": bike_id,
            "ride_id": ride_id,
            "updated_since": updated_since,
            "changes_since": changes_since,
        }
        return self._api.list(RESERVATIONS_LIST, query, options)

    def changes_since(
        self,
        checkpoint: str | None,
        *,
        limit: int | None = None,
        status: ReservationStatus | None = None,
        rider_ref: str | None = None,
        bike_id: str | None = None,
        ride_id: str | None = None,
        options: RequestOptions | None = None,
    ) -> List[Reservation]:
        """Everything that has changed since a checkpoint, each item as it is now. Without a checkpoint: all items.
        No change is missed, whatever changes meanwhile and even if clocks are wrong; a recent change may come
        twice. When the iteration has ended, keep the `checkpoint()` of the list for the next one. A checkpoint
        kept earlier continues an iteration that was interrupted. Do not filter by fields that change: an item
        that no longer passes the filter is not shown.

        :raises CheckpointLostError: in the iteration, when changes may be missing: begin again without a
        checkpoint.
        """
        query: dict[str, object] = {
            "limit": limit,
            "status": status,
            "rider_ref": rider_ref,
            "bike_id": bike_id,
            "ride_id": ride_id,
        }
        return self._api.changes(RESERVATIONS_LIST, checkpoint, query, options)

    def create(
        self,
        *,
        station_id: str | None = None,
        bike_id: str | None = None,
        vehicle_type_id: str | None = None,
        rider_ref: str | None = None,
        hold_minutes: int | None = None,
        options: IdempotentRequestOptions | None = None,
    ) -> Reservation:
        """Reserve a bike.

        Give `station_id` for any bike of a station or `bike_id` for one bike: exactly one of the two. The bike is
        assigned and held at once, for 15 minutes unless `hold_minutes` says otherwise, at most 30; `PATCH`
        extends the hold. 404 when there is no such station or bike.

        Needs a key with the scope `reservations:write`.
        """
        body: dict[str, object] = {
            "station_id": station_id,
            "bike_id": bike_id,
            "vehicle_type_id": vehicle_type_id,
            "rider_ref": rider_ref,
            "hold_minutes": hold_minutes,
        }
        answer = self._api.call(RESERVATIONS_CREATE, options, body=body)
        return cast("Reservation", answer)

    def get(self, id: str, *, options: RequestOptions | None = None) -> Reservation:
        """One reservation.

        One of your own reservations; another partner's is 404.

        Needs a key with the scope `reservations:read`.
        """
        answer = self._api.call(RESERVATIONS_GET, options, id=id)
        return cast("Reservation", answer)

    def extend(self, id: str, *, hold_minutes: int, options: IdempotentRequestOptions | None = None) -> Reservation:
        """Extend a reservation.

        Holds the bike for `hold_minutes` more. One request adds at most 30 minutes, and the hold lasts at most 60
        minutes in total, from `created_at` on. Each request adds minutes: send an `Idempotency-Key`, so that a
        repeated one does not.

        Needs a key with the scope `reservations:write`.
        """
        body: dict[str, object] = {"hold_minutes": hold_minutes}
        answer = self._api.call(RESERVATIONS_EXTEND, options, id=id, body=body)
        return cast("Reservation", answer)

    def cancel(self, id: str, *, options: RequestOptions | None = None) -> Reservation:
        """Cancel a reservation.

        Releases the bike and returns the reservation. Needs no body. Cancelling a cancelled reservation again
        changes nothing and returns the same.

        Needs a key with the scope `reservations:write`.
        """
        answer = self._api.call(RESERVATIONS_CANCEL, options, id=id)
        return cast("Reservation", answer)


class EventsResource:
    """What happened, in order, to catch up after an outage."""

    def __init__(self, api: SyncApi) -> None:
        self._api = api

    def list(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        event: EventName | None = None,
        after: str | None = None,
        options: RequestOptions | None = None,
    ) -> List[EventRecord]:
        """List events.

        What happened in the last 30 days, oldest first, so that you can catch up after an outage. Shows the
        events of the resources that the key may read: ride events need `rides:read` too, and so on. Of
        reservation events, only your own are shown.

        Needs a key with the scope `events:read`.
        """
        query: dict[str, object] = {"page": page, "limit": limit, "cursor": cursor, "event": event, "after": after}
        return self._api.list(EVENTS_LIST, query, options, is_by_id=True)

    def since(
        self,
        checkpoint: str | None,
        *,
        limit: int | None = None,
        event: EventName | None = None,
        options: RequestOptions | None = None,
    ) -> List[EventRecord]:
        """The events since a checkpoint, each once, oldest first: to catch up after you were down. Keep the
        `checkpoint()` of the iterator or the list.

        :param checkpoint: the id of the last event you have seen; `now` begins with the next event; None begins
        with the oldest event that is kept
        :raises CheckpointLostError: in the iteration, when that event is no longer kept: read the resources
        again, then continue without a checkpoint.
        """
        query: dict[str, object] = {"limit": limit, "event": event, "after": checkpoint}
        return self._api.list(EVENTS_LIST, query, options, is_by_id=True)

    def get(self, id: str, *, options: RequestOptions | None = None) -> EventRecord:
        """One event.

        An event of the last 30 days that the key may see in the list; any other is 404.

        Needs a key with the scope `events:read`.
        """
        answer = self._api.call(EVENTS_GET, options, id=id)
        return cast("EventRecord", answer)


class DeliveriesResource:
    """What was sent to your webhooks, whether it arrived and why not, and how to send it again."""

    def __init__(self, api: SyncApi) -> None:
        self._api = api

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        endpoint_id: str | None = None,
        status: Literal["pending", "succeeded", "failed", "held", "failing", "unsuccessful"] | None = None,
        event: str | None = None,
        failure: str | None = None,
        resource_id: str | None = None,
        since: str | None = None,
        until: str | None = None,
        options: RequestOptions | None = None,
    ) -> DeliveryRecordList:
        """List deliveries.

        Deliveries to your webhooks in the last 30 days, by `created_at`, newest first; the id breaks ties. 404
        when you have no webhook with the given `endpoint_id`.

        Needs a key with the scope `deliveries:read`.
        """
        query: dict[str, object] = {
            "limit": limit,
            "cursor": cursor,
            "endpoint_id": endpoint_id,
            "status": status,
            "event": event,
            "failure": failure,
            "resource_id": resource_id,
            "since": since,
            "until": until,
        }
        answer = self._api.call(DELIVERIES_LIST, options, query=query)
        return cast("DeliveryRecordList", answer)

    def all(
        self,
        *,
        limit: int | None = None,
        endpoint_id: str | None = None,
        status: Literal["pending", "succeeded", "failed", "held", "failing", "unsuccessful"] | None = None,
        event: str | None = None,
        failure: str | None = None,
        resource_id: str | None = None,
        since: str | None = None,
        until: str | None = None,
        options: RequestOptions | None = None,
    ) -> Iterator[DeliveryRecord]:
        """All of them, page by page."""
        query: dict[str, object] = {
            "limit": limit,
            "endpoint_id": endpoint_id,
            "status": status,
            "event": event,
            "failure": failure,
            "resource_id": resource_id,
            "since": since,
            "until": until,
        }
        return self._api.all(DELIVERIES_LIST, query, options)

    def get(self, id: str, *, options: RequestOptions | None = None) -> DeliveryDetail:
        """One delivery.

        The delivery with its attempts, why they failed and what to do about it. To see the data, read the event
        at `/v1/events/{id}`, with the scope that the event needs. Another partner's delivery is 404.

        Needs a key with the scope `deliveries:read`.
        """
        answer = self._api.call(DELIVERIES_GET, options, id=id)
        return cast("DeliveryDetail", answer)

    def resend(self, id: str, *, options: IdempotentRequestOptions | None = None) -> Resend:
        """Send a delivery again.

        Sends the delivery now, with the same `delivery_id`; your receiver may get it twice. Takes no body. 409
        when the webhook is paused or removed, or when the delivery is a test or its content is no longer stored.

        Needs a key with the scope `deliveries:write`.
        """
        answer = self._api.call(DELIVERIES_RESEND, options, id=id)
        return cast("Resend", answer)


class FlowsResource:
    """How many rides go from one station to another."""

    def __init__(self, api: SyncApi) -> None:
        self._api = api

    def list(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        station_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        options: RequestOptions | None = None,
    ) -> FlowList:
        """List flows.

        Numbers of completed rides between pairs of stations, by the days of their start; at most 92 days at once.
        Pairs with fewer than 5 rides are only counted, in `left_out`. Kept for 397 days.

        Needs a key with the scope `history:read`.
        """
        query: dict[str, object] = {"from": from_, "to": to, "station_id": station_id, "limit": limit, "cursor": cursor}
        answer = self._api.call(FLOWS_LIST, options, query=query)
        return cast("FlowList", answer)

    def all(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        station_id: str | None = None,
        limit: int | None = None,
        options: RequestOptions | None = None,
    ) -> Iterator[Flow]:
        """All of them, page by page."""
        query: dict[str, object] = {"from": from_, "to": to, "station_id": station_id, "limit": limit}
        return self._api.all(FLOWS_LIST, query, options)


class SystemResource:
    """Fleet, rides and stations of the whole system over time."""

    def __init__(self, api: SyncApi) -> None:
        self._api = api

    def summary(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        step: SummaryStepLength | None = None,
        options: RequestOptions | None = None,
    ) -> SystemSummary:
        """The system over time.

        Rides, the fleet by state, and stations that were empty, full or offline, step by step; at most 1000
        steps. Late reports, corrections and imports are included within minutes. Kept for 5 years.

        Needs a key with the scope `history:read`.
        """
        query: dict[str, object] = {"from": from_, "to": to, "step": step}
        answer = self._api.call(SYSTEM_SUMMARY, options, query=query)
        return cast("SystemSummary", answer)


class ExportsResource:
    """Files of open data: rides, stations and their history."""

    def __init__(self, api: SyncApi) -> None:
        self._api = api

    def list(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        kind: ExportKind | None = None,
        month: str | None = None,
        format: ExportFormat | None = None,
        options: RequestOptions | None = None,
    ) -> List[Export]:
        """List exports.

        Finished files of open data that the operator shares with partners, newest first.

        Needs a key with the scope `exports:read`.
        """
        query: dict[str, object] = {
            "page": page,
            "limit": limit,
            "cursor": cursor,
            "kind": kind,
            "month": month,
            "format": format,
        }
        return self._api.list(EXPORTS_LIST, query, options)

    def get(self, id: str, *, options: RequestOptions | None = None) -> Export:
        """One export.

        With a download link that expires. It accepts range and conditional requests; the file's SHA-256 is the
        `ETag` and in `Repr-Digest`. You may run two downloads at a time.

        Needs a key with the scope `exports:read`.
        """
        answer = self._api.call(EXPORTS_GET, options, id=id)
        return cast("Export", answer)


class MeResource:
    """Your key's scopes, expiry and limits."""

    def __init__(self, api: SyncApi) -> None:
        self._api = api

    def get(self, *, options: RequestOptions | None = None) -> Me:
        """Your key.

        The key's id, partner, scopes, expiry, rate limit and requests left; the partner's active reservations and
        how many it may have at once.

        Needs a key, whatever its scopes.
        """
        answer = self._api.call(ME_GET, options)
        return cast("Me", answer)


class HealthResource:
    """For load balancers and monitoring. Needs no key."""

    def __init__(self, api: SyncApi) -> None:
        self._api = api

    def live(self, *, options: RequestOptions | None = None) -> Health:
        """Is the process alive?.

        Needs no key.
        """
        answer = self._api.call(HEALTH_LIVE, options)
        return cast("Health", answer)

    def ready(self, *, options: RequestOptions | None = None) -> Health:
        """Can the process answer requests?.

        503 while the database is unreachable or the process is shutting down.

        Needs no key.
        """
        answer = self._api.call(HEALTH_READY, options)
        return cast("Health", answer)


class SandboxResource:
    """How a test controls its city."""

    def __init__(self, api: SyncApi) -> None:
        self._api = api

    def show(self, *, options: RequestOptions | None = None) -> SandboxStatus:
        """Show the sandbox.

        Needs a key of a sandbox, whatever its scopes.
        """
        answer = self._api.call(SANDBOX_SHOW, options)
        return cast("SandboxStatus", answer)

    def reset(self, *, seed: int | None = None, options: RequestOptions | None = None) -> SandboxStatus:
        """Generate the city again.

        Deletes stations, bikes, rides, reservations and alerts, and generates the seed's city. Keys, webhooks,
        events and the log of deliveries stay.

        Needs a key of a sandbox, whatever its scopes.
        """
        body: dict[str, object] = {"seed": seed}
        answer = self._api.call(SANDBOX_RESET, options, body=body)
        return cast("SandboxStatus", answer)

    def clock(self, *, options: RequestOptions | None = None) -> SandboxClock:
        """Show the clock.

        Needs a key of a sandbox, whatever its scopes.
        """
        answer = self._api.call(SANDBOX_CLOCK, options)
        return cast("SandboxClock", answer)

    def advance(self, *, seconds: int, options: RequestOptions | None = None) -> SandboxClock:
        """Let time pass.

        Brings forward everything that waits for a time: the end of reservations, rides, alerts, keys, old secrets
        and faults, the minutes of thresholds, the hour of a webhook's limit, and the next attempts of deliveries.
        What becomes due is done at once. Signatures and the times of events still follow the real clock, as your
        receiver does. Call `GET /sandbox/v1/clock` until `ready` is true.

        Needs a key of a sandbox, whatever its scopes.
        """
        body: dict[str, object] = {"seconds": seconds}
        answer = self._api.call(SANDBOX_ADVANCE, options, body=body)
        return cast("SandboxClock", answer)

    def scenario(self, name: SandboxScenarioName, *, options: RequestOptions | None = None) -> SandboxScenario:
        """Play a scenario.

        - `rush-hour`: Many rides start and end at once.
        - `station-outage`: A station goes offline with an alert, and comes back.
        - `bike-breaks-while-reserved`: A reserved bike breaks: its reservation is cancelled.
        - `reservation-expires`: A reservation expires before its bike is taken.
        - `late-report`: A bike's report from before its ride arrives after it, and changes nothing.
        - `ride-corrected`: A ride ends, and is corrected afterwards.
        - `receiver-down-then-recovers`: Deliveries fail for ten seconds. Their next attempts arrive.
        - `key-expires`: A key is made that expires in a minute.

        Needs a key of a sandbox, whatever its scopes.
        """
        answer = self._api.call(SANDBOX_SCENARIO, options, id=name, body={})
        return cast("SandboxScenario", answer)

    def add_fault(
        self,
        *,
        status: Literal[429, 500, 503, "timeout"],
        route: str | None = None,
        share: float | None = None,
        count: int | None = None,
        until: str | None = None,
        options: RequestOptions | None = None,
    ) -> SandboxFaults:
        """Make the API fail.

        Up to 10 faults at once, which end by themselves. They do not affect requests to /sandbox/v1.

        Needs a key of a sandbox, whatever its scopes.
        """
        body: dict[str, object] = {"route": route, "status": status, "share": share, "count": count, "until": until}
        answer = self._api.call(SANDBOX_ADD_FAULT, options, body=body)
        return cast("SandboxFaults", answer)

    def end_faults(self, *, options: RequestOptions | None = None) -> SandboxFaults:
        """End all faults of the API.

        Needs a key of a sandbox, whatever its scopes.
        """
        answer = self._api.call(SANDBOX_END_FAULTS, options)
        return cast("SandboxFaults", answer)

    def set_webhook_faults(
        self,
        *,
        delay: int | None = None,
        duplicate: bool | None = None,
        reorder: bool | None = None,
        bad_signature: bool | None = None,
        down: bool | None = None,
        until: str | None = None,
        options: RequestOptions | None = None,
    ) -> SandboxWebhookFaults:
        """Make deliveries fail.

        Faults to test a receiver with. `{}` ends them.

        Needs a key of a sandbox, whatever its scopes.
        """
        body: dict[str, object] = {
            "delay": delay,
            "duplicate": duplicate,
            "reorder": reorder,
            "bad_signature": bad_signature,
            "down": down,
            "until": until,
        }
        answer = self._api.call(SANDBOX_SET_WEBHOOK_FAULTS, options, body=body)
        return cast("SandboxWebhookFaults", answer)

    def trigger(
        self,
        name: SandboxEventName,
        *,
        station_id: str | None = None,
        options: RequestOptions | None = None,
    ) -> SandboxEvent:
        """Cause an event.

        Does what causes the event: for `ride.completed` a bike is taken and brought back. `station.updated`
        follows within a minute. Threshold events need a threshold on a webhook of the sandbox.

        Needs a key of a sandbox, whatever its scopes.
        """
        body: dict[str, object] = {"station_id": station_id}
        answer = self._api.call(SANDBOX_TRIGGER, options, id=name, body=body)
        return cast("SandboxEvent", answer)


class Resources:
    """The resources of the API."""

    def __init__(self, api: SyncApi) -> None:
        self.stations = StationsResource(api)
        """Places where bikes are rented and returned."""
        self.vehicle_types = VehicleTypesResource(api)
        """The vehicle types that stations, bikes and rides name by id."""
        self.regions = RegionsResource(api)
        """The regions that stations name by id."""
        self.alerts = AlertsResource(api)
        """What riders should know: closures, moves, disturbances."""
        self.rides = RidesResource(api)
        """A bike's trip from start to end. Who rode is never shown."""
        self.bikes = BikesResource(api)
        """Bikes, and other vehicles that are shared the same way."""
        self.reservations = ReservationsResource(api)
        """Bikes held for your riders, for some minutes from now. You see your own only."""
        self.events = EventsResource(api)
        """What happened, in order, to catch up after an outage."""
        self.deliveries = DeliveriesResource(api)
        """What was sent to your webhooks, whether it arrived and why not, and how to send it again."""
        self.flows = FlowsResource(api)
        """How many rides go from one station to another."""
        self.system = SystemResource(api)
        """Fleet, rides and stations of the whole system over time."""
        self.exports = ExportsResource(api)
        """Files of open data: rides, stations and their history."""
        self.me = MeResource(api)
        """Your key's scopes, expiry and limits."""
        self.health = HealthResource(api)
        """For load balancers and monitoring. Needs no key."""


class AsyncStationsResource:
    """Places where bikes are rented and returned."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    def list(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        at: str | None = None,
        status: StationStatus | None = None,
        region_id: str | None = None,
        bbox: str | None = None,
        updated_since: str | None = None,
        changes_since: str | None = None,
        options: RequestOptions | None = None,
    ) -> AsyncList[StationAt]:
        """List stations.

        Stations by id.

        Needs a key with the scope `stations:read`; with `at` the scope `history:read` too.
        """
        query: dict[str, object] = {
            "page": page,
            "limit": limit,
            "cursor": cursor,
            "at": at,
            "status": status,
            "region_id": region_id,
            "bbox": bbox,
            "updated_since": updated_since,
            "changes_since": changes_since,
        }
        return self._api.list(STATIONS_LIST, query, options)

    def changes_since(
        self,
        checkpoint: str | None,
        *,
        limit: int | None = None,
        at: str | None = None,
        status: StationStatus | None = None,
        region_id: str | None = None,
        bbox: str | None = None,
        options: RequestOptions | None = None,
    ) -> AsyncList[StationAt]:
        """Everything that has changed since a checkpoint, each item as it is now. Without a checkpoint: all items.
        No change is missed, whatever changes meanwhile and even if clocks are wrong; a recent change may come
        twice. When the iteration has ended, keep the `checkpoint()` of the list for the next one. A checkpoint
        kept earlier continues an iteration that was interrupted. Do not filter by fields that change: an item
        that no longer passes the filter is not shown.

        :raises CheckpointLostError: in the iteration, when changes may be missing: begin again without a
        checkpoint.
        """
        query: dict[str, object] = {"limit": limit, "at": at, "status": status, "region_id": region_id, "bbox": bbox}
        return self._api.changes(STATIONS_LIST, checkpoint, query, options)

    async def typical(self, id: str, *, options: RequestOptions | None = None) -> StationTypical:
        """A station's usual day.

        Bikes and docks by kind of day and quarter of an hour, of the last 8 weeks. While fewer than 21 days are
        known, `data` is empty, and `ready_at` says when enough will be known.

        Needs a key with the scope `history:read`.
        """
        answer = await self._api.call(STATIONS_TYPICAL, options, id=id)
        return cast("StationTypical", answer)

    async def forecast(
        self,
        id: str,
        *,
        horizon: ForecastHorizon | None = None,
        options: RequestOptions | None = None,
    ) -> StationForecast:
        """A station's forecast.

        How many bikes and docks there will be, and the probability of at least one, from how the station changed
        at this time on days of this kind, once 28 days are known. `score` compares such forecasts with assuming
        no change; where they were no better, `method` is `as_now` and the forecast is the number of now.

        Needs a key with the scope `history:read`.
        """
        query: dict[str, object] = {"horizon": horizon}
        answer = await self._api.call(STATIONS_FORECAST, options, id=id, query=query)
        return cast("StationForecast", answer)

    async def get(self, id: str, *, at: str | None = None, options: RequestOptions | None = None) -> StationAt:
        """One station.

        Needs a key with the scope `stations:read`; with `at` the scope `history:read` too.
        """
        query: dict[str, object] = {"at": at}
        answer = await self._api.call(STATIONS_GET, options, id=id, query=query)
        return cast("StationAt", answer)

    async def history(
        self,
        id: str,
        *,
        from_: str | None = None,
        to: str | None = None,
        step: HistoryStepLength | None = None,
        options: RequestOptions | None = None,
    ) -> StationHistory:
        """A station over time.

        Bikes and docks in each step of time, and for how long the station was empty, full or offline. Kept for
        397 days; at most 3000 steps at once.

        Needs a key with the scope `history:read`.
        """
        query: dict[str, object] = {"from": from_, "to": to, "step": step}
        answer = await self._api.call(STATIONS_HISTORY, options, id=id, query=query)
        return cast("StationHistory", answer)


class AsyncVehicleTypesResource:
    """The vehicle types that stations, bikes and rides name by id."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    def list(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        options: RequestOptions | None = None,
    ) -> AsyncList[VehicleType]:
        """List vehicle types.

        The vehicle types that stations, bikes and rides name by id, sorted by id.

        Needs a key with the scope `stations:read`.
        """
        query: dict[str, object] = {"page": page, "limit": limit, "cursor": cursor}
        return self._api.list(VEHICLE_TYPES_LIST, query, options)


class AsyncRegionsResource:
    """The regions that stations name by id."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    def list(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        options: RequestOptions | None = None,
    ) -> AsyncList[Region]:
        """List regions.

        The regions that stations name by id, sorted by id.

        Needs a key with the scope `stations:read`.
        """
        query: dict[str, object] = {"page": page, "limit": limit, "cursor": cursor}
        return self._api.list(REGIONS_LIST, query, options)


class AsyncAlertsResource:
    """What riders should know: closures, moves, disturbances."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    def list(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        options: RequestOptions | None = None,
    ) -> AsyncList[Alert]:
        """List alerts.

        What riders should know now: the open alerts, by id.

        Needs a key with the scope `stations:read`.
        """
        query: dict[str, object] = {"page": page, "limit": limit, "cursor": cursor}
        return self._api.list(ALERTS_LIST, query, options)

    async def get(self, id: str, *, options: RequestOptions | None = None) -> Alert:
        """One alert.

        An open alert, or one that ended in the last 90 days.

        Needs a key with the scope `stations:read`.
        """
        answer = await self._api.call(ALERTS_GET, options, id=id)
        return cast("Alert", answer)


class AsyncRidesResource:
    """A bike's trip from start to end. Who rode is never shown."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    def list(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        status: RideStatus | None = None,
        bike_id: str | None = None,
        station_id: str | None = None,
        started_after: str | None = None,
        started_before: str | None = None,
        updated_since: str | None = None,
        changes_since: str | None = None,
        options: RequestOptions | None = None,
    ) -> AsyncList[Ride]:
        """List rides.

        Rides by `started_at`, newest first; the id breaks ties.

        Needs a key with the scope `rides:read`.
        """
        query: dict[str, object] = {
            "page": page,
            "limit": limit,
            "cursor": cursor,
            "status": status,
            "bike_id": bike_id,
            "station_id": station_id,
            "started_after": started_after,
            "started_before": started_before,
            "updated_since": updated_since,
            "changes_since": changes_since,
        }
        return self._api.list(RIDES_LIST, query, options)

    def changes_since(
        self,
        checkpoint: str | None,
        *,
        limit: int | None = None,
        status: RideStatus | None = None,
        bike_id: str | None = None,
        station_id: str | None = None,
        started_after: str | None = None,
        started_before: str | None = None,
        options: RequestOptions | None = None,
    ) -> AsyncList[Ride]:
        """Everything that has changed since a checkpoint, each item as it is now. Without a checkpoint: all items.
        No change is missed, whatever changes meanwhile and even if clocks are wrong; a recent change may come
        twice. When the iteration has ended, keep the `checkpoint()` of the list for the next one. A checkpoint
        kept earlier continues an iteration that was interrupted. Do not filter by fields that change: an item
        that no longer passes the filter is not shown.

        :raises CheckpointLostError: in the iteration, when changes may be missing: begin again without a
        checkpoint.
        """
        query: dict[str, object] = {
            "limit": limit,
            "status": status,
            "bike_id": bike_id,
            "station_id": station_id,
            "started_after": started_after,
            "started_before": started_before,
        }
        return self._api.changes(RIDES_LIST, checkpoint, query, options)

    async def get(self, id: str, *, options: RequestOptions | None = None) -> Ride:
        """One ride.

        Needs a key with the scope `rides:read`.
        """
        answer = await self._api.call(RIDES_GET, options, id=id)
        return cast("Ride", answer)


class AsyncBikesResource:
    """Bikes, and other vehicles that are shared the same way."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    def list(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        vehicle_state: VehicleState | None = None,
        station_id: str | None = None,
        bbox: str | None = None,
        updated_since: str | None = None,
        changes_since: str | None = None,
        options: RequestOptions | None = None,
    ) -> AsyncList[Bike]:
        """List bikes.

        Bikes by id.

        Needs a key with the scope `bikes:read`.
        """
        query: dict[str, object] = {
            "page": page,
            "limit": limit,
            "cursor": cursor,
            "vehicle_state": vehicle_state,
            "station_id": station_id,
            "bbox": bbox,
            "updated_since": updated_since,
            "changes_since": changes_since,
        }
        return self._api.list(BIKES_LIST, query, options)

    def changes_since(
        self,
        checkpoint: str | None,
        *,
        limit: int | None = None,
        vehicle_state: VehicleState | None = None,
        station_id: str | None = None,
        bbox: str | None = None,
        options: RequestOptions | None = None,
    ) -> AsyncList[Bike]:
        """Everything that has changed since a checkpoint, each item as it is now. Without a checkpoint: all items.
        No change is missed, whatever changes meanwhile and even if clocks are wrong; a recent change may come
        twice. When the iteration has ended, keep the `checkpoint()` of the list for the next one. A checkpoint
        kept earlier continues an iteration that was interrupted. Do not filter by fields that change: an item
        that no longer passes the filter is not shown.

        :raises CheckpointLostError: in the iteration, when changes may be missing: begin again without a
        checkpoint.
        """
        query: dict[str, object] = {
            "limit": limit,
            "vehicle_state": vehicle_state,
            "station_id": station_id,
            "bbox": bbox,
        }
        return self._api.changes(BIKES_LIST, checkpoint, query, options)

    async def get(self, id: str, *, options: RequestOptions | None = None) -> Bike:
        """One bike.

        Needs a key with the scope `bikes:read`.
        """
        answer = await self._api.call(BIKES_GET, options, id=id)
        return cast("Bike", answer)


class AsyncReservationsResource:
    """Bikes held for your riders, for some minutes from now. You see your own only."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    def list(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        status: ReservationStatus | None = None,
        rider_ref: str | None = None,
        bike_id: str | None = None,
        ride_id: str | None = None,
        updated_since: str | None = None,
        changes_since: str | None = None,
        options: RequestOptions | None = None,
    ) -> AsyncList[Reservation]:
        """List reservations.

        Your own reservations by `created_at`, newest first; the id breaks ties.

        Needs a key with the scope `reservations:read`.
        """
        query: dict[str, object] = {
            "page": page,
            "limit": limit,
            "cursor": cursor,
            "status": status,
            "rider_ref": rider_ref,
            "bike_id": bike_id,
            "ride_id": ride_id,
            "updated_since": updated_since,
            "changes_since": changes_since,
        }
        return self._api.list(RESERVATIONS_LIST, query, options)

    def changes_since(
        self,
        checkpoint: str | None,
        *,
        limit: int | None = None,
        status: ReservationStatus | None = None,
        rider_ref: str | None = None,
        bike_id: str | None = None,
        ride_id: str | None = None,
        options: RequestOptions | None = None,
    ) -> AsyncList[Reservation]:
        """Everything that has changed since a checkpoint, each item as it is now. Without a checkpoint: all items.
        No change is missed, whatever changes meanwhile and even if clocks are wrong; a recent change may come
        twice. When the iteration has ended, keep the `checkpoint()` of the list for the next one. A checkpoint
        kept earlier continues an iteration that was interrupted. Do not filter by fields that change: an item
        that no longer passes the filter is not shown.

        :raises CheckpointLostError: in the iteration, when changes may be missing: begin again without a
        checkpoint.
        """
        query: dict[str, object] = {
            "limit": limit,
            "status": status,
            "rider_ref": rider_ref,
            "bike_id": bike_id,
            "ride_id": ride_id,
        }
        return self._api.changes(RESERVATIONS_LIST, checkpoint, query, options)

    async def create(
        self,
        *,
        station_id: str | None = None,
        bike_id: str | None = None,
        vehicle_type_id: str | None = None,
        rider_ref: str | None = None,
        hold_minutes: int | None = None,
        options: IdempotentRequestOptions | None = None,
    ) -> Reservation:
        """Reserve a bike.

        Give `station_id` for any bike of a station or `bike_id` for one bike: exactly one of the two. The bike is
        assigned and held at once, for 15 minutes unless `hold_minutes` says otherwise, at most 30; `PATCH`
        extends the hold. 404 when there is no such station or bike.

        Needs a key with the scope `reservations:write`.
        """
        body: dict[str, object] = {
            "station_id": station_id,
            "bike_id": bike_id,
            "vehicle_type_id": vehicle_type_id,
            "rider_ref": rider_ref,
            "hold_minutes": hold_minutes,
        }
        answer = await self._api.call(RESERVATIONS_CREATE, options, body=body)
        return cast("Reservation", answer)

    async def get(self, id: str, *, options: RequestOptions | None = None) -> Reservation:
        """One reservation.

        One of your own reservations; another partner's is 404.

        Needs a key with the scope `reservations:read`.
        """
        answer = await self._api.call(RESERVATIONS_GET, options, id=id)
        return cast("Reservation", answer)

    async def extend(
        self,
        id: str,
        *,
        hold_minutes: int,
        options: IdempotentRequestOptions | None = None,
    ) -> Reservation:
        """Extend a reservation.

        Holds the bike for `hold_minutes` more. One request adds at most 30 minutes, and the hold lasts at most 60
        minutes in total, from `created_at` on. Each request adds minutes: send an `Idempotency-Key`, so that a
        repeated one does not.

        Needs a key with the scope `reservations:write`.
        """
        body: dict[str, object] = {"hold_minutes": hold_minutes}
        answer = await self._api.call(RESERVATIONS_EXTEND, options, id=id, body=body)
        return cast("Reservation", answer)

    async def cancel(self, id: str, *, options: RequestOptions | None = None) -> Reservation:
        """Cancel a reservation.

        Releases the bike and returns the reservation. Needs no body. Cancelling a cancelled reservation again
        changes nothing and returns the same.

        Needs a key with the scope `reservations:write`.
        """
        answer = await self._api.call(RESERVATIONS_CANCEL, options, id=id)
        return cast("Reservation", answer)


class AsyncEventsResource:
    """What happened, in order, to catch up after an outage."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    def list(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        event: EventName | None = None,
        after: str | None = None,
        options: RequestOptions | None = None,
    ) -> AsyncList[EventRecord]:
        """List events.

        What happened in the last 30 days, oldest first, so that you can catch up after an outage. Shows the
        events of the resources that the key may read: ride events need `rides:read` too, and so on. Of
        reservation events, only your own are shown.

        Needs a key with the scope `events:read`.
        """
        query: dict[str, object] = {"page": page, "limit": limit, "cursor": cursor, "event": event, "after": after}
        return self._api.list(EVENTS_LIST, query, options, is_by_id=True)

    def since(
        self,
        checkpoint: str | None,
        *,
        limit: int | None = None,
        event: EventName | None = None,
        options: RequestOptions | None = None,
    ) -> AsyncList[EventRecord]:
        """The events since a checkpoint, each once, oldest first: to catch up after you were down. Keep the
        `checkpoint()` of the iterator or the list.

        :param checkpoint: the id of the last event you have seen; `now` begins with the next event; None begins
        with the oldest event that is kept
        :raises CheckpointLostError: in the iteration, when that event is no longer kept: read the resources
        again, then continue without a checkpoint.
        """
        query: dict[str, object] = {"limit": limit, "event": event, "after": checkpoint}
        return self._api.list(EVENTS_LIST, query, options, is_by_id=True)

    async def get(self, id: str, *, options: RequestOptions | None = None) -> EventRecord:
        """One event.

        An event of the last 30 days that the key may see in the list; any other is 404.

        Needs a key with the scope `events:read`.
        """
        answer = await self._api.call(EVENTS_GET, options, id=id)
        return cast("EventRecord", answer)


class AsyncDeliveriesResource:
    """What was sent to your webhooks, whether it arrived and why not, and how to send it again."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        endpoint_id: str | None = None,
        status: Literal["pending", "succeeded", "failed", "held", "failing", "unsuccessful"] | None = None,
        event: str | None = None,
        failure: str | None = None,
        resource_id: str | None = None,
        since: str | None = None,
        until: str | None = None,
        options: RequestOptions | None = None,
    ) -> DeliveryRecordList:
        """List deliveries.

        Deliveries to your webhooks in the last 30 days, by `created_at`, newest first; the id breaks ties. 404
        when you have no webhook with the given `endpoint_id`.

        Needs a key with the scope `deliveries:read`.
        """
        query: dict[str, object] = {
            "limit": limit,
            "cursor": cursor,
            "endpoint_id": endpoint_id,
            "status": status,
            "event": event,
            "failure": failure,
            "resource_id": resource_id,
            "since": since,
            "until": until,
        }
        answer = await self._api.call(DELIVERIES_LIST, options, query=query)
        return cast("DeliveryRecordList", answer)

    def all(
        self,
        *,
        limit: int | None = None,
        endpoint_id: str | None = None,
        status: Literal["pending", "succeeded", "failed", "held", "failing", "unsuccessful"] | None = None,
        event: str | None = None,
        failure: str | None = None,
        resource_id: str | None = None,
        since: str | None = None,
        until: str | None = None,
        options: RequestOptions | None = None,
    ) -> AsyncIterator[DeliveryRecord]:
        """All of them, page by page."""
        query: dict[str, object] = {
            "limit": limit,
            "endpoint_id": endpoint_id,
            "status": status,
            "event": event,
            "failure": failure,
            "resource_id": resource_id,
            "since": since,
            "until": until,
        }
        return self._api.all(DELIVERIES_LIST, query, options)

    async def get(self, id: str, *, options: RequestOptions | None = None) -> DeliveryDetail:
        """One delivery.

        The delivery with its attempts, why they failed and what to do about it. To see the data, read the event
        at `/v1/events/{id}`, with the scope that the event needs. Another partner's delivery is 404.

        Needs a key with the scope `deliveries:read`.
        """
        answer = await self._api.call(DELIVERIES_GET, options, id=id)
        return cast("DeliveryDetail", answer)

    async def resend(self, id: str, *, options: IdempotentRequestOptions | None = None) -> Resend:
        """Send a delivery again.

        Sends the delivery now, with the same `delivery_id`; your receiver may get it twice. Takes no body. 409
        when the webhook is paused or removed, or when the delivery is a test or its content is no longer stored.

        Needs a key with the scope `deliveries:write`.
        """
        answer = await self._api.call(DELIVERIES_RESEND, options, id=id)
        return cast("Resend", answer)


class AsyncFlowsResource:
    """How many rides go from one station to another."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def list(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        station_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        options: RequestOptions | None = None,
    ) -> FlowList:
        """List flows.

        Numbers of completed rides between pairs of stations, by the days of their start; at most 92 days at once.
        Pairs with fewer than 5 rides are only counted, in `left_out`. Kept for 397 days.

        Needs a key with the scope `history:read`.
        """
        query: dict[str, object] = {"from": from_, "to": to, "station_id": station_id, "limit": limit, "cursor": cursor}
        answer = await self._api.call(FLOWS_LIST, options, query=query)
        return cast("FlowList", answer)

    def all(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        station_id: str | None = None,
        limit: int | None = None,
        options: RequestOptions | None = None,
    ) -> AsyncIterator[Flow]:
        """All of them, page by page."""
        query: dict[str, object] = {"from": from_, "to": to, "station_id": station_id, "limit": limit}
        return self._api.all(FLOWS_LIST, query, options)


class AsyncSystemResource:
    """Fleet, rides and stations of the whole system over time."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def summary(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        step: SummaryStepLength | None = None,
        options: RequestOptions | None = None,
    ) -> SystemSummary:
        """The system over time.

        Rides, the fleet by state, and stations that were empty, full or offline, step by step; at most 1000
        steps. Late reports, corrections and imports are included within minutes. Kept for 5 years.

        Needs a key with the scope `history:read`.
        """
        query: dict[str, object] = {"from": from_, "to": to, "step": step}
        answer = await self._api.call(SYSTEM_SUMMARY, options, query=query)
        return cast("SystemSummary", answer)


class AsyncExportsResource:
    """Files of open data: rides, stations and their history."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    def list(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        kind: ExportKind | None = None,
        month: str | None = None,
        format: ExportFormat | None = None,
        options: RequestOptions | None = None,
    ) -> AsyncList[Export]:
        """List exports.

        Finished files of open data that the operator shares with partners, newest first.

        Needs a key with the scope `exports:read`.
        """
        query: dict[str, object] = {
            "page": page,
            "limit": limit,
            "cursor": cursor,
            "kind": kind,
            "month": month,
            "format": format,
        }
        return self._api.list(EXPORTS_LIST, query, options)

    async def get(self, id: str, *, options: RequestOptions | None = None) -> Export:
        """One export.

        With a download link that expires. It accepts range and conditional requests; the file's SHA-256 is the
        `ETag` and in `Repr-Digest`. You may run two downloads at a time.

        Needs a key with the scope `exports:read`.
        """
        answer = await self._api.call(EXPORTS_GET, options, id=id)
        return cast("Export", answer)


class AsyncMeResource:
    """Your key's scopes, expiry and limits."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def get(self, *, options: RequestOptions | None = None) -> Me:
        """Your key.

        The key's id, partner, scopes, expiry, rate limit and requests left; the partner's active reservations and
        how many it may have at once.

        Needs a key, whatever its scopes.
        """
        answer = await self._api.call(ME_GET, options)
        return cast("Me", answer)


class AsyncHealthResource:
    """For load balancers and monitoring. Needs no key."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def live(self, *, options: RequestOptions | None = None) -> Health:
        """Is the process alive?.

        Needs no key.
        """
        answer = await self._api.call(HEALTH_LIVE, options)
        return cast("Health", answer)

    async def ready(self, *, options: RequestOptions | None = None) -> Health:
        """Can the process answer requests?.

        503 while the database is unreachable or the process is shutting down.

        Needs no key.
        """
        answer = await self._api.call(HEALTH_READY, options)
        return cast("Health", answer)


class AsyncSandboxResource:
    """How a test controls its city."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def show(self, *, options: RequestOptions | None = None) -> SandboxStatus:
        """Show the sandbox.

        Needs a key of a sandbox, whatever its scopes.
        """
        answer = await self._api.call(SANDBOX_SHOW, options)
        return cast("SandboxStatus", answer)

    async def reset(self, *, seed: int | None = None, options: RequestOptions | None = None) -> SandboxStatus:
        """Generate the city again.

        Deletes stations, bikes, rides, reservations and alerts, and generates the seed's city. Keys, webhooks,
        events and the log of deliveries stay.

        Needs a key of a sandbox, whatever its scopes.
        """
        body: dict[str, object] = {"seed": seed}
        answer = await self._api.call(SANDBOX_RESET, options, body=body)
        return cast("SandboxStatus", answer)

    async def clock(self, *, options: RequestOptions | None = None) -> SandboxClock:
        """Show the clock.

        Needs a key of a sandbox, whatever its scopes.
        """
        answer = await self._api.call(SANDBOX_CLOCK, options)
        return cast("SandboxClock", answer)

    async def advance(self, *, seconds: int, options: RequestOptions | None = None) -> SandboxClock:
        """Let time pass.

        Brings forward everything that waits for a time: the end of reservations, rides, alerts, keys, old secrets
        and faults, the minutes of thresholds, the hour of a webhook's limit, and the next attempts of deliveries.
        What becomes due is done at once. Signatures and the times of events still follow the real clock, as your
        receiver does. Call `GET /sandbox/v1/clock` until `ready` is true.

        Needs a key of a sandbox, whatever its scopes.
        """
        body: dict[str, object] = {"seconds": seconds}
        answer = await self._api.call(SANDBOX_ADVANCE, options, body=body)
        return cast("SandboxClock", answer)

    async def scenario(self, name: SandboxScenarioName, *, options: RequestOptions | None = None) -> SandboxScenario:
        """Play a scenario.

        - `rush-hour`: Many rides start and end at once.
        - `station-outage`: A station goes offline with an alert, and comes back.
        - `bike-breaks-while-reserved`: A reserved bike breaks: its reservation is cancelled.
        - `reservation-expires`: A reservation expires before its bike is taken.
        - `late-report`: A bike's report from before its ride arrives after it, and changes nothing.
        - `ride-corrected`: A ride ends, and is corrected afterwards.
        - `receiver-down-then-recovers`: Deliveries fail for ten seconds. Their next attempts arrive.
        - `key-expires`: A key is made that expires in a minute.

        Needs a key of a sandbox, whatever its scopes.
        """
        answer = await self._api.call(SANDBOX_SCENARIO, options, id=name, body={})
        return cast("SandboxScenario", answer)

    async def add_fault(
        self,
        *,
        status: Literal[429, 500, 503, "timeout"],
        route: str | None = None,
        share: float | None = None,
        count: int | None = None,
        until: str | None = None,
        options: RequestOptions | None = None,
    ) -> SandboxFaults:
        """Make the API fail.

        Up to 10 faults at once, which end by themselves. They do not affect requests to /sandbox/v1.

        Needs a key of a sandbox, whatever its scopes.
        """
        body: dict[str, object] = {"route": route, "status": status, "share": share, "count": count, "until": until}
        answer = await self._api.call(SANDBOX_ADD_FAULT, options, body=body)
        return cast("SandboxFaults", answer)

    async def end_faults(self, *, options: RequestOptions | None = None) -> SandboxFaults:
        """End all faults of the API.

        Needs a key of a sandbox, whatever its scopes.
        """
        answer = await self._api.call(SANDBOX_END_FAULTS, options)
        return cast("SandboxFaults", answer)

    async def set_webhook_faults(
        self,
        *,
        delay: int | None = None,
        duplicate: bool | None = None,
        reorder: bool | None = None,
        bad_signature: bool | None = None,
        down: bool | None = None,
        until: str | None = None,
        options: RequestOptions | None = None,
    ) -> SandboxWebhookFaults:
        """Make deliveries fail.

        Faults to test a receiver with. `{}` ends them.

        Needs a key of a sandbox, whatever its scopes.
        """
        body: dict[str, object] = {
            "delay": delay,
            "duplicate": duplicate,
            "reorder": reorder,
            "bad_signature": bad_signature,
            "down": down,
            "until": until,
        }
        answer = await self._api.call(SANDBOX_SET_WEBHOOK_FAULTS, options, body=body)
        return cast("SandboxWebhookFaults", answer)

    async def trigger(
        self,
        name: SandboxEventName,
        *,
        station_id: str | None = None,
        options: RequestOptions | None = None,
    ) -> SandboxEvent:
        """Cause an event.

        Does what causes the event: for `ride.completed` a bike is taken and brought back. `station.updated`
        follows within a minute. Threshold events need a threshold on a webhook of the sandbox.

        Needs a key of a sandbox, whatever its scopes.
        """
        body: dict[str, object] = {"station_id": station_id}
        answer = await self._api.call(SANDBOX_TRIGGER, options, id=name, body=body)
        return cast("SandboxEvent", answer)


class AsyncResources:
    """The resources of the API."""

    def __init__(self, api: AsyncApi) -> None:
        self.stations = AsyncStationsResource(api)
        """Places where bikes are rented and returned."""
        self.vehicle_types = AsyncVehicleTypesResource(api)
        """The vehicle types that stations, bikes and rides name by id."""
        self.regions = AsyncRegionsResource(api)
        """The regions that stations name by id."""
        self.alerts = AsyncAlertsResource(api)
        """What riders should know: closures, moves, disturbances."""
        self.rides = AsyncRidesResource(api)
        """A bike's trip from start to end. Who rode is never shown."""
        self.bikes = AsyncBikesResource(api)
        """Bikes, and other vehicles that are shared the same way."""
        self.reservations = AsyncReservationsResource(api)
        """Bikes held for your riders, for some minutes from now. You see your own only."""
        self.events = AsyncEventsResource(api)
        """What happened, in order, to catch up after an outage."""
        self.deliveries = AsyncDeliveriesResource(api)
        """What was sent to your webhooks, whether it arrived and why not, and how to send it again."""
        self.flows = AsyncFlowsResource(api)
        """How many rides go from one station to another."""
        self.system = AsyncSystemResource(api)
        """Fleet, rides and stations of the whole system over time."""
        self.exports = AsyncExportsResource(api)
        """Files of open data: rides, stations and their history."""
        self.me = AsyncMeResource(api)
        """Your key's scopes, expiry and limits."""
        self.health = AsyncHealthResource(api)
        """For load balancers and monitoring. Needs no key."""
