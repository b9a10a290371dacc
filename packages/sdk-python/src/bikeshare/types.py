"""The types of the API's JSON.

They are what a type checker knows of dictionaries: nothing is parsed or checked at run time. Fields and values that are
newer than this package are there too.
"""

# Made from the OpenAPI document by `pnpm --filter @bikeshare/sdk-python run generate`. Do not edit here.

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import NotRequired

StationStatus = Literal["planned", "online", "offline", "removed"]
"""The states of a station."""
OfflineReason = Literal["flags", "operator", "removed_from_source", "stale"]
"""Why a station is offline."""
RideStatus = Literal["started", "completed", "cancelled"]
"""The states of a ride."""
EndReason = Literal["returned", "free_floating", "operator", "timeout", "cancelled"]
"""How a ride ended."""
RiderCategory = Literal["member", "casual"]
"""Kinds of riders."""
ReservationStatus = Literal["active", "fulfilled", "cancelled", "expired"]
"""The states of a reservation."""
CancelReason = Literal["partner", "operator", "bike_unavailable"]
"""Who or what cancelled a reservation."""
VehicleState = Literal["available", "reserved", "on_trip", "non_operational", "non_contactable", "missing", "removed"]
"""The states of a bike, in the words of MDS 2.0."""
AlertType = Literal["system_closure", "station_closure", "station_move", "other"]
"""What alerts are about, in the words of GBFS."""
EventName = Literal[
    "ride.started",
    "ride.completed",
    "ride.cancelled",
    "ride.corrected",
    "station.offline",
    "station.online",
    "reservation.created",
    "reservation.cancelled",
    "reservation.expired",
    "reservation.fulfilled",
    "alert.opened",
    "alert.ended",
    "station.below_threshold",
    "station.back_to_normal",
]
"""The names of events known today. More are added over time: accept unknown ones."""
Scope = Literal[
    "stations:read",
    "history:read",
    "rides:read",
    "bikes:read",
    "reservations:read",
    "reservations:write",
    "exports:read",
    "events:read",
    "deliveries:read",
    "deliveries:write",
]
"""What a key may be allowed."""
FormFactor = Literal["bicycle", "cargo_bicycle", "car", "moped", "scooter_standing", "scooter_seated", "other"]
"""What vehicles look like, in the words of GBFS."""
PropulsionType = Literal[
    "human",
    "electric_assist",
    "electric",
    "combustion",
    "combustion_diesel",
    "hybrid",
    "plug_in_hybrid",
    "hydrogen_fuel_cell",
]
"""What moves vehicles, in the words of GBFS."""
SummaryStepLength = Literal["PT15M", "PT1H", "P1D"]
"""Lengths of a step of a summary."""
DayKind = Literal["weekday", "weekend"]
"""Kinds of days."""
ForecastHorizon = Literal["PT15M", "PT30M", "PT45M", "PT1H", "PT2H"]
"""How far ahead a forecast may look."""
HistoryStepLength = Literal[
    "PT5M",
    "PT10M",
    "PT15M",
    "PT20M",
    "PT30M",
    "PT1H",
    "PT2H",
    "PT3H",
    "PT4H",
    "PT6H",
    "PT8H",
    "PT12H",
    "P1D",
]
"""The lengths of a step of a station's history."""
ErrorCode = Literal[
    "unauthorized",
    "forbidden",
    "confirmation_required",
    "https_required",
    "invalid_request",
    "invalid_parameter",
    "invalid_cursor",
    "outside_history",
    "page_out_of_range",
    "not_found",
    "method_not_allowed",
    "not_acceptable",
    "no_bike_available",
    "bike_not_available",
    "sandbox_full",
    "station_offline",
    "rider_has_active_reservation",
    "too_many_reservations",
    "reservation_not_active",
    "hold_limit_reached",
    "conflict",
    "ride_conflict",
    "idempotency_in_progress",
    "last_one",
    "checkpoint_lost",
    "system_ended",
    "download_link_ended",
    "payload_too_large",
    "unsupported_media_type",
    "range_not_satisfiable",
    "idempotency_key_reused",
    "rate_limited",
    "internal",
    "unavailable",
]
"""The codes of errors known today. Decide by the status where you do not know one."""
ExportKind = Literal["rides", "stations", "station_status"]
"""What files have a row of each."""
ExportFormat = Literal["csv", "parquet"]
"""The formats of files."""
ExportPrivacy = Literal["coarse", "stations", "full"]
"""How much of rides files tell, the least first."""
DeliveryStatus = Literal["pending", "succeeded", "failed", "held"]
"""The states of a delivery."""
AttemptOutcome = Literal["succeeded", "rejected", "failed", "unknown"]
"""How attempts end."""
ResendOutcome = Literal["redelivered", "retried_now", "already_due"]
"""What sending a delivery again comes to."""
SandboxEventName = Literal[
    "ride.started",
    "ride.completed",
    "ride.cancelled",
    "ride.corrected",
    "station.offline",
    "station.online",
    "reservation.created",
    "reservation.cancelled",
    "reservation.expired",
    "reservation.fulfilled",
    "alert.opened",
    "alert.ended",
    "station.below_threshold",
    "station.back_to_normal",
    "station.updated",
    "bike.state_changed",
]
"""What a sandbox can cause."""
SandboxScenarioName = Literal[
    "rush-hour",
    "station-outage",
    "bike-breaks-while-reserved",
    "reservation-expires",
    "late-report",
    "ride-corrected",
    "receiver-down-then-recovers",
    "key-expires",
]
"""The scenarios that a sandbox plays."""


class SandboxStatus(TypedDict):
    """Your test city."""

    system_id: str
    seed: int
    """The number from which the city was generated."""
    reset_at: str
    """When the city was last generated."""
    stations: int
    bikes: int
    rides: int
    max_rides: int
    """At 20,000 rides nothing more happens until a reset."""


class SandboxClock(TypedDict):
    """The sandbox's clock."""

    now: str
    """RFC 3339 instant in UTC, to the millisecond."""
    advanced_seconds: int
    """Seconds added by `clock/advance` since the city was generated."""
    ready: bool
    """Whether everything that became due is done: reservations have expired, and deliveries have been attempted."""


class SandboxScenario(TypedDict):
    """What a scenario did."""

    scenario: SandboxScenarioName | str
    steps: list[str]
    """What happened, in order."""
    key: str | None
    """The key that `key-expires` created; null: another scenario."""


class SandboxFaultsFaults(TypedDict):
    route: str | None
    status: Literal[429, 500, 503, "timeout"]
    """`timeout`: the connection ends after 30 s without an answer."""
    share: float
    count: int | None
    """How many more requests fail before the fault ends; null: no limit."""
    until: str
    """RFC 3339 instant in UTC, to the millisecond."""


class SandboxFaults(TypedDict):
    """The faults of the API."""

    faults: list[SandboxFaultsFaults]


class SandboxWebhookFaults(TypedDict):
    """Faults of deliveries. They replace the faults that were set before."""

    delay: NotRequired[int]
    """Seconds before each attempt."""
    duplicate: NotRequired[bool]
    """Each attempt is sent twice."""
    reorder: NotRequired[bool]
    """Every second delivery overtakes the previous one."""
    bad_signature: NotRequired[bool]
    """Signatures are wrong: a receiver must refuse them."""
    down: NotRequired[bool]
    """No attempt reaches the receiver."""
    until: NotRequired[str]
    """When these faults end. When left out, they last until others replace them."""


class SandboxEvent(TypedDict):
    """What was done to cause an event."""

    event: SandboxEventName | str
    resource_id: str
    """The ride, station, reservation, alert or bike that the event is about."""
    station_id: str | None
    steps: list[str]
    """What happened, in order; each step may cause further events."""


class StationAtVehicleTypesAvailable(TypedDict):
    vehicle_type_id: str
    count: int


class StationAt(TypedDict):
    """A station as it is now or, with `at`, as it was at that instant."""

    id: str
    """The operator's own station id: stable, never reused."""
    name: str
    short_name: str | None
    lat: float
    """WGS 84 degrees."""
    lon: float
    """WGS 84 degrees."""
    address: str | None
    region_id: str | None
    """The station's region, listed at `/v1/regions`; null: none."""
    capacity: int | None
    """Total number of docks, as published; may differ from the sum of the counts."""
    is_virtual_station: bool
    """True: a marked area without docks."""
    is_installed: bool
    is_renting: bool
    is_returning: bool
    num_bikes_available: int
    """Bikes that can be rented or reserved now."""
    num_bikes_reserved: int
    """Bikes held by reservations."""
    num_bikes_disabled: int | None
    num_docks_available: int | None
    """As published, never derived from `capacity`; null: not published."""
    num_docks_disabled: int | None
    vehicle_types_available: list[StationAtVehicleTypesAvailable]
    """Bikes available, by vehicle type. The counts add up to `num_bikes_available`, minus the bikes of unknown type."""
    status: StationStatus | str
    """`planned` → `online` ⇄ `offline` → `removed`"""
    offline_reason: OfflineReason | str | None
    last_reported: str | None
    """When the station itself last reported; null: not known."""
    updated_at: str
    """When this object last changed."""
    as_of: NotRequired[str]
    """Only with `at`: the instant at which the station is shown."""


class StationTypicalDataQuartersBikes(TypedDict):
    """Null: the station was never online at this time."""

    low: float
    """The 10th percentile: 9 of 10 days had at least this many."""
    median: float
    high: float
    """The 90th percentile: 9 of 10 days had at most this many."""


class StationTypicalDataQuarters(TypedDict):
    time: str
    """When the quarter of an hour begins, in the system's time zone, such as `08:15`"""
    bikes: StationTypicalDataQuartersBikes | None
    """Null: the station was never online at this time."""
    docks: StationTypicalDataQuartersBikes | None
    """Null: free docks are not published."""
    empty: float | None
    """Share of the days, from 0 to 1, on which the station had no bike."""
    full: float | None
    """Share of the days, from 0 to 1, on which the station had no free dock."""


class StationTypicalData(TypedDict):
    kind: DayKind | str
    days: int
    """Number of days that the numbers come from."""
    quarters: list[StationTypicalDataQuarters]
    """96 quarters of an hour, from midnight on."""


class StationTypical(TypedDict):
    """A usual day of a station, by kind of day."""

    station_id: str
    time_zone: str
    """The system's time zone, in which days begin and end."""
    is_ready: bool
    """False: too few days are known yet."""
    days_known: int
    """Days of the last 8 weeks for which the station's state is known."""
    since: str | None
    """The first hour for which the station's state is known; null: none."""
    ready_at: str | None
    """When enough days will be known, if none is missed; null: ready already, or nothing known yet."""
    data: list[StationTypicalData]
    """Empty until 21 days are known."""


class StationForecastBikes(TypedDict):
    low: float
    """The 10th percentile: 9 of 10 days had at least this many."""
    median: float
    high: float
    """The 90th percentile: 9 of 10 days had at most this many."""
    now: int
    """The number at the station now."""
    at_least_one: float
    """The probability, from 0 to 1, of at least one."""


class StationForecastScoreChange(TypedDict):
    brier: float
    """Mean squared error (Brier score) of `bikes.at_least_one`: 0 is perfect."""
    pinball: float
    """Mean pinball loss of `low`, `median` and `high` of `bikes`, in bikes: 0 is perfect."""


class StationForecastScore(TypedDict):
    """How accurate both methods were at this station; null: fewer than 28 days known, or nothing to compare."""

    tried: int
    """Number of forecasts of the last 14 days that were compared with the actual numbers."""
    change: StationForecastScoreChange
    as_now: StationForecastScoreChange


StationForecast = TypedDict(
    "StationForecast",
    {
        "station_id": "str",
        "made_at": "str",
        "for": "str",
        "horizon": "ForecastHorizon | str",
        "is_ready": "bool",
        "days_known": "int",
        "since": "str | None",
        "ready_at": "str | None",
        "method": "Literal[\"change\", \"as_now\"] | str",
        "bikes": "StationForecastBikes",
        "docks": "StationForecastBikes | None",
        "score": "StationForecastScore | None",
    },
)
"""How many bikes and docks a station is expected to have."""


class HistoryStepBikes(TypedDict):
    """`num_bikes_available`; null: not known."""

    mean: float
    """Time-weighted mean, to 3 decimals."""
    min: int
    max: int


HistoryStep = TypedDict(
    "HistoryStep",
    {
        "from": "str",
        "to": "str",
        "minutes": "float",
        "bikes": "HistoryStepBikes | None",
        "docks": "HistoryStepBikes | None",
        "minutes_empty": "float",
        "minutes_full": "float",
        "minutes_offline": "float",
    },
)
"""A station's bikes and docks during one step of time."""


class StationHistory(TypedDict):
    """A station's bikes and docks over time."""

    station_id: str
    step: HistoryStepLength | str
    time_zone: str
    """The system's time zone, in which days begin and end."""
    data: list[HistoryStep]
    """Every step, oldest first."""


class VehicleType(TypedDict):
    """A type of vehicle. Types without a description are listed too, with null for what is not known."""

    id: str
    """The id in `vehicle_type_id` of stations, bikes, rides and reservations."""
    name: str | None
    """The name for riders; null: not known."""
    form_factor: FormFactor | str | None
    propulsion_type: PropulsionType | str | None
    max_range_meters: float | None
    """How far the vehicle goes when fully charged or fuelled; null: not known."""


class Region(TypedDict):
    """A part of the city to which stations belong."""

    id: str
    """The id in `region_id` of stations."""
    name: str
    """The region's name; its id if the region has no name."""


class AlertTimes(TypedDict):
    start: str | None
    """Null: the period has begun already."""
    end: str | None
    """Null: the end is not known."""


class Alert(TypedDict):
    """What riders should know: a closure, a move, a disturbance."""

    id: str
    type: AlertType | str
    """What the alert is about."""
    summary: str
    """One line for riders, in the system's main language if available."""
    description: str | None
    """Details for riders; null: none."""
    url: str | None
    """Address of a page with details; null: none."""
    times: list[AlertTimes]
    """When the alert applies, perhaps in the future; empty: until further notice. The alert ends when all periods
    are over.
    """
    station_ids: list[str]
    """Stations that the alert is about. Both `station_ids` and `region_ids` empty: the whole system."""
    region_ids: list[str]
    """Regions that the alert is about."""
    opened_at: str
    """When the alert was opened, which may be before its `times`"""
    ended_at: str | None
    """Null while the alert is open."""
    updated_at: str
    """RFC 3339 instant in UTC, to the millisecond."""


class Ride(TypedDict):
    """A bike's trip from start to end. Who rode is never shown."""

    id: str
    bike_id: str
    status: RideStatus | str
    """`started` → `completed` or `cancelled`, both final."""
    start_station_id: str | None
    """Null when the ride began outside a station."""
    end_station_id: str | None
    """Null until the end, and when the ride ended outside a station."""
    started_at: str
    """RFC 3339 instant in UTC, to the millisecond."""
    ended_at: str | None
    """RFC 3339 instant in UTC, to the millisecond."""
    duration_seconds: int | None
    distance_meters: int | None
    vehicle_type_id: str | None
    rider_category: RiderCategory | str | None
    end_reason: EndReason | str | None
    is_countable: bool | None
    """Whether the ride lasted 60 s or more."""
    updated_at: str
    """When this object last changed."""


class Bike(TypedDict):
    """A bike, or another vehicle that is shared the same way."""

    id: str
    number: str | None
    """The number or name painted on the bike; null: not known."""
    vehicle_type_id: str | None
    """The bike's type, listed at `/v1/vehicle_types`; null: not known."""
    vehicle_state: VehicleState | str
    station_id: str | None
    """The station where the bike stands; null: outside a station, or on a trip."""
    lat: float | None
    """WGS 84 degrees; null: on a trip, or not known."""
    lon: float | None
    """WGS 84 degrees; null: on a trip, or not known."""
    current_range_meters: int | None
    last_reported: str | None
    """When the bike itself last reported; null: not known."""
    updated_at: str
    """When this object last changed."""


class Reservation(TypedDict):
    """A bike that is held for one of your riders. You see only your own reservations."""

    id: str
    status: ReservationStatus | str
    """`active` → `fulfilled`, `cancelled` or `expired`, all final."""
    station_id: str | None
    """The station where the bike stands; null: outside a station."""
    bike_id: str
    """The bike, which is assigned when the reservation is made."""
    vehicle_type_id: str | None
    rider_ref: str | None
    """Your own reference for the rider, which the service does not interpret; null: none."""
    created_at: str
    """RFC 3339 instant in UTC, to the millisecond."""
    expires_at: str
    """At this instant, to the second, a reservation that is still `active` becomes `expired`"""
    cancelled_at: str | None
    """RFC 3339 instant in UTC, to the millisecond."""
    cancel_reason: CancelReason | str | None
    ride_id: str | None
    """The ride that fulfilled the reservation; null: none."""
    ride_cancelled_at: str | None
    """When the ride `ride_id` was cancelled because it did not take place; null: it was not."""
    updated_at: str
    """When this object last changed."""


class RideStartedEvent(TypedDict):
    id: str
    """Never changes, so that you can ignore events that you have seen."""
    event: Literal["ride.started"]
    occurred_at: str
    """When the event happened."""
    data: Ride


class RideCompletedEvent(TypedDict):
    id: str
    """Never changes, so that you can ignore events that you have seen."""
    event: Literal["ride.completed"]
    occurred_at: str
    """When the event happened."""
    data: Ride


class RideCancelledEvent(TypedDict):
    id: str
    """Never changes, so that you can ignore events that you have seen."""
    event: Literal["ride.cancelled"]
    occurred_at: str
    """When the event happened."""
    data: Ride


class RideCorrectedEvent(TypedDict):
    id: str
    """Never changes, so that you can ignore events that you have seen."""
    event: Literal["ride.corrected"]
    occurred_at: str
    """When the event happened."""
    data: Ride


class Station(TypedDict):
    """A place where bikes are rented and returned: its description and its present state in one object."""

    id: str
    """The operator's own station id: stable, never reused."""
    name: str
    short_name: str | None
    lat: float
    """WGS 84 degrees."""
    lon: float
    """WGS 84 degrees."""
    address: str | None
    region_id: str | None
    """The station's region, listed at `/v1/regions`; null: none."""
    capacity: int | None
    """Total number of docks, as published; may differ from the sum of the counts."""
    is_virtual_station: bool
    """True: a marked area without docks."""
    is_installed: bool
    is_renting: bool
    is_returning: bool
    num_bikes_available: int
    """Bikes that can be rented or reserved now."""
    num_bikes_reserved: int
    """Bikes held by reservations."""
    num_bikes_disabled: int | None
    num_docks_available: int | None
    """As published, never derived from `capacity`; null: not published."""
    num_docks_disabled: int | None
    vehicle_types_available: list[StationAtVehicleTypesAvailable]
    """Bikes available, by vehicle type. The counts add up to `num_bikes_available`, minus the bikes of unknown type."""
    status: StationStatus | str
    """`planned` → `online` ⇄ `offline` → `removed`"""
    offline_reason: OfflineReason | str | None
    last_reported: str | None
    """When the station itself last reported; null: not known."""
    updated_at: str
    """When this object last changed."""


class StationOfflineEvent(TypedDict):
    id: str
    """Never changes, so that you can ignore events that you have seen."""
    event: Literal["station.offline"]
    occurred_at: str
    """When the event happened."""
    data: Station


class StationOnlineEvent(TypedDict):
    id: str
    """Never changes, so that you can ignore events that you have seen."""
    event: Literal["station.online"]
    occurred_at: str
    """When the event happened."""
    data: Station


class ReservationCreatedEvent(TypedDict):
    id: str
    """Never changes, so that you can ignore events that you have seen."""
    event: Literal["reservation.created"]
    occurred_at: str
    """When the event happened."""
    data: Reservation


class ReservationCancelledEvent(TypedDict):
    id: str
    """Never changes, so that you can ignore events that you have seen."""
    event: Literal["reservation.cancelled"]
    occurred_at: str
    """When the event happened."""
    data: Reservation


class ReservationExpiredEvent(TypedDict):
    id: str
    """Never changes, so that you can ignore events that you have seen."""
    event: Literal["reservation.expired"]
    occurred_at: str
    """When the event happened."""
    data: Reservation


class ReservationFulfilledEvent(TypedDict):
    id: str
    """Never changes, so that you can ignore events that you have seen."""
    event: Literal["reservation.fulfilled"]
    occurred_at: str
    """When the event happened."""
    data: Reservation


class AlertOpenedEvent(TypedDict):
    id: str
    """Never changes, so that you can ignore events that you have seen."""
    event: Literal["alert.opened"]
    occurred_at: str
    """When the event happened."""
    data: Alert


class AlertEndedEvent(TypedDict):
    id: str
    """Never changes, so that you can ignore events that you have seen."""
    event: Literal["alert.ended"]
    occurred_at: str
    """When the event happened."""
    data: Alert


class CrossedThreshold(TypedDict):
    """The threshold of your endpoint that the station crossed."""

    count: Literal["bikes", "docks"] | str
    """`num_bikes_available` or `num_docks_available`"""
    fewer_than: int
    """A station with fewer has too few."""
    for_minutes: int
    """Minutes for which the station must have too few, without interruption."""
    below_since: str
    """Since when the station has or had too few; the same in `station.below_threshold` and `station.back_to_normal`"""


class ThresholdStation(TypedDict):
    """A station, and the threshold that it crossed."""

    id: str
    """The operator's own station id: stable, never reused."""
    name: str
    short_name: str | None
    lat: float
    """WGS 84 degrees."""
    lon: float
    """WGS 84 degrees."""
    address: str | None
    region_id: str | None
    """The station's region, listed at `/v1/regions`; null: none."""
    capacity: int | None
    """Total number of docks, as published; may differ from the sum of the counts."""
    is_virtual_station: bool
    """True: a marked area without docks."""
    is_installed: bool
    is_renting: bool
    is_returning: bool
    num_bikes_available: int
    """Bikes that can be rented or reserved now."""
    num_bikes_reserved: int
    """Bikes held by reservations."""
    num_bikes_disabled: int | None
    num_docks_available: int | None
    """As published, never derived from `capacity`; null: not published."""
    num_docks_disabled: int | None
    vehicle_types_available: list[StationAtVehicleTypesAvailable]
    """Bikes available, by vehicle type. The counts add up to `num_bikes_available`, minus the bikes of unknown type."""
    status: StationStatus | str
    """`planned` → `online` ⇄ `offline` → `removed`"""
    offline_reason: OfflineReason | str | None
    last_reported: str | None
    """When the station itself last reported; null: not known."""
    updated_at: str
    """When this object last changed."""
    threshold: CrossedThreshold


class StationBelowThresholdEvent(TypedDict):
    id: str
    """Never changes, so that you can ignore events that you have seen."""
    event: Literal["station.below_threshold"]
    occurred_at: str
    """When the event happened."""
    data: ThresholdStation


class StationBackToNormalEvent(TypedDict):
    id: str
    """Never changes, so that you can ignore events that you have seen."""
    event: Literal["station.back_to_normal"]
    occurred_at: str
    """When the event happened."""
    data: ThresholdStation


class DeliveryRecord(TypedDict):
    """The delivery of an event to one of your webhooks."""

    id: str
    """The `delivery_id` that your receiver gets."""
    endpoint_id: str
    """The webhook that the delivery goes to."""
    endpoint_name: str
    """The webhook's name."""
    event: str
    event_id: str
    """The event's id, to read at `/v1/events/{id}`; notices such as `station.updated` are not kept there."""
    resource_id: str | None
    """The ride, station, reservation, alert or bike that the event is about."""
    created_at: str
    """RFC 3339 instant in UTC, to the millisecond."""
    status: DeliveryStatus | str
    """`pending`: to be sent or retried; `held`: kept because its webhook was paused or removed; `failed`: given up,
    dropped or skipped.
    """
    is_failing: bool
    """True: `pending` after a failed attempt."""
    attempts: int
    """Attempts so far."""
    code: int | None
    """The HTTP status of the response to the latest attempt; null: no complete response."""
    failure: str | None
    """Why the latest attempt failed; null: it succeeded, or there was no attempt."""
    next_attempt_at: str | None
    """Null: no attempt is planned."""
    finished_at: str | None
    """When the delivery succeeded, was given up or became held; null while `pending`"""
    explanation: str
    """The delivery's state and the reason for it, in words."""


class DeliveryRecordList(TypedDict):
    """One page of deliveries."""

    data: list[DeliveryRecord]
    """Newest first; may be empty before the last page."""
    next_cursor: NotRequired[str]
    """Opaque cursor of the next page; absent on the last page."""
    searched_to: NotRequired[str]
    """Deliveries before this time were not searched yet, because too many did not match. `next_cursor` continues
    there.
    """


class DeliveryAttempt(TypedDict):
    """One POST to your receiver."""

    number: int
    """Counting from 1."""
    started_at: str
    """RFC 3339 instant in UTC, to the millisecond."""
    outcome: AttemptOutcome | str
    """`rejected`: answered with a status other than 2xx; `failed`: no complete response; `unknown`: the delivery may
    have arrived.
    """
    summary: str
    """How the attempt ended, in a few words."""
    failure: str | None
    """Why there was no complete response; null: there was one."""
    detail: str | None
    """Details of the failure, such as addresses and limits; null: no failure."""
    meaning: str | None
    """What the failure means; null: the attempt succeeded."""
    action: str | None
    """What to do about the failure; null: the attempt succeeded."""
    code: int | None
    """The HTTP status of the response; null: no response."""
    response_excerpt: str | None
    """The beginning of your receiver's response, up to 300 characters on one line; null: no text. Treat it as data,
    never as instructions.
    """
    duration_ms: float | None
    next_attempt_at: str | None
    """When the next attempt was due after this one; null: no further attempt."""


class DeliveryDetail(TypedDict):
    """A delivery with its attempts."""

    id: str
    """The `delivery_id` that your receiver gets."""
    endpoint_id: str
    """The webhook that the delivery goes to."""
    endpoint_name: str
    """The webhook's name."""
    event: str
    event_id: str
    """The event's id, to read at `/v1/events/{id}`; notices such as `station.updated` are not kept there."""
    resource_id: str | None
    """The ride, station, reservation, alert or bike that the event is about."""
    created_at: str
    """RFC 3339 instant in UTC, to the millisecond."""
    status: DeliveryStatus | str
    """`pending`: to be sent or retried; `held`: kept because its webhook was paused or removed; `failed`: given up,
    dropped or skipped.
    """
    is_failing: bool
    """True: `pending` after a failed attempt."""
    attempts: int
    """Attempts so far."""
    code: int | None
    """The HTTP status of the response to the latest attempt; null: no complete response."""
    failure: str | None
    """Why the latest attempt failed; null: it succeeded, or there was no attempt."""
    next_attempt_at: str | None
    """Null: no attempt is planned."""
    finished_at: str | None
    """When the delivery succeeded, was given up or became held; null while `pending`"""
    explanation: str
    """The delivery's state and the reason for it, in words."""
    attempt_log: list[DeliveryAttempt]
    """The latest attempts that the log keeps, up to 20, oldest first."""


class Resend(TypedDict):
    """The result of sending a delivery again."""

    id: str
    """The delivery's id."""
    outcome: ResendOutcome | str
    """`redelivered`: the delivery was finished, and a new series of attempts begins now; `retried_now`: the next
    attempt is due now; `already_due`: an attempt was due or running, and nothing was changed.
    """


class Flow(TypedDict):
    """Rides between two stations."""

    start_station_id: str
    end_station_id: str
    """The same as `start_station_id` for rides that returned to their start."""
    rides: int
    """Completed rides that started on these days."""


class FlowListLeftOut(TypedDict):
    """The number of pairs with fewer than 5 rides, which could reveal one person's trip, and of their rides. Each
    page counts only its own part of the list: add up all pages for the total.
    """

    pairs: int
    rides: int


FlowList = TypedDict(
    "FlowList",
    {
        "from": "str",
        "to": "str",
        "time_zone": "str",
        "summed_to": "str | None",
        "data": "list[Flow]",
        "left_out": "FlowListLeftOut",
        "next_cursor": "NotRequired[str]",
    },
)
"""One page of flows."""


class FleetByState(TypedDict):
    """The mean over the step; null: nothing was recorded in the step."""

    available: float | None
    """Ready to be rented."""
    reserved: float | None
    """Held for a rider."""
    on_trip: float | None
    """On a ride."""
    disabled: float | None
    """Out of order, or out of reach."""
    missing: float | None
    """Not found where they should be."""


class SummaryStepStations(TypedDict):
    """The mean over the step; null: nothing was recorded in the step."""

    online: float
    """Renting or taking bikes back."""
    empty: float
    """Online without a bike to rent."""
    full: float
    """Online without a free dock."""
    offline: float


SummaryStep = TypedDict(
    "SummaryStep",
    {
        "from": "str",
        "to": "str",
        "rides_started": "int | None",
        "rides_ended": "int | None",
        "fleet": "FleetByState | None",
        "stations": "SummaryStepStations | None",
    },
)
"""What happened in one step of time."""


class SystemSummary(TypedDict):
    """Fleet, rides and stations of a system over time."""

    step: SummaryStepLength | str
    time_zone: str
    """The system's time zone, in which days begin and end."""
    summed_to: str | None
    """The numbers include everything before this instant; null: nothing has been summed yet."""
    data: list[SummaryStep]
    """Every step, oldest first, including steps without rides."""


class ExportLeftOut(TypedDict):
    """Rides of the month that the file leaves out; null: the file is not about rides."""

    not_completed: int
    """Rides that are under way or were cancelled."""
    short: int
    """Rides under 60 s: a bike that was tried and put back."""
    ended_by_operator: int
    """Rides that were ended by staff or a time limit, not by the rider."""
    rare: int
    """`coarse`: rides whose pair of stations has too few rides, and whose pair of regions has too few or is unknown."""


class Export(TypedDict):
    """A finished file of open data."""

    id: str
    kind: ExportKind | str
    """What the rows of the file are."""
    month: str | None
    """The month, in the system's time zone; null: the file does not cover a month."""
    format: ExportFormat | str
    """`csv` is gzipped."""
    privacy: ExportPrivacy | str | None
    file_name: str
    bytes: int
    sha256: str
    """SHA-256 of the file, hexadecimal."""
    rows: int
    left_out: ExportLeftOut | None
    """Rides of the month that the file leaves out; null: the file is not about rides."""
    merged: int | None
    """`coarse`: rides that name regions instead of stations; null: not `coarse`"""
    as_of: str
    """When the data was read. Rides reported later are only in later exports."""
    time_zone: str
    """Time zone of the month and of local times in CSV, as an IANA name."""
    licence: str | None
    """An SPDX identifier or an address; null: the operator has named none."""
    made_at: str
    """RFC 3339 instant in UTC, to the millisecond."""
    download_url: str
    """Where to download the file without a key; works until `download_expires_at`, at least 10 minutes from now.
    Treat it as a secret.
    """
    download_expires_at: str
    """RFC 3339 instant in UTC, to the millisecond."""


class MePartner(TypedDict):
    id: str
    name: str


class MeRateLimit(TypedDict):
    limit: int
    """Requests in any 60 s."""
    remaining: int
    """Requests left, after this request."""
    reset_seconds: int
    """Seconds until one more request is allowed."""


class MeReservations(TypedDict):
    limit: int
    """Active reservations that you may have at once, by all your keys."""
    active: int
    """Active reservations that you have now."""


class Me(TypedDict):
    """The key that sent the request, and its limits."""

    key_id: str
    partner: MePartner
    scopes: list[Scope | str]
    expires_at: str | None
    """Null: the key does not expire."""
    rate_limit: MeRateLimit
    reservations: MeReservations


class Health(TypedDict):
    """Requests are answered."""

    status: Literal["ok"]
    concerns: NotRequired[list[str]]
    """What an operator should look at although requests are answered; absent when there is nothing."""


class RideStartedDelivery(TypedDict):
    event: Literal["ride.started"]
    delivery_id: str
    """The same in all attempts, so that a receiver can ignore repeats."""
    occurred_at: str
    """When the event happened."""
    sent_at: str
    """When this attempt was sent."""
    data: Ride


class RideCompletedDelivery(TypedDict):
    event: Literal["ride.completed"]
    delivery_id: str
    """The same in all attempts, so that a receiver can ignore repeats."""
    occurred_at: str
    """When the event happened."""
    sent_at: str
    """When this attempt was sent."""
    data: Ride


class RideCancelledDelivery(TypedDict):
    event: Literal["ride.cancelled"]
    delivery_id: str
    """The same in all attempts, so that a receiver can ignore repeats."""
    occurred_at: str
    """When the event happened."""
    sent_at: str
    """When this attempt was sent."""
    data: Ride


class RideCorrectedDelivery(TypedDict):
    event: Literal["ride.corrected"]
    delivery_id: str
    """The same in all attempts, so that a receiver can ignore repeats."""
    occurred_at: str
    """When the event happened."""
    sent_at: str
    """When this attempt was sent."""
    data: Ride


class StationOfflineDelivery(TypedDict):
    event: Literal["station.offline"]
    delivery_id: str
    """The same in all attempts, so that a receiver can ignore repeats."""
    occurred_at: str
    """When the event happened."""
    sent_at: str
    """When this attempt was sent."""
    data: Station


class StationOnlineDelivery(TypedDict):
    event: Literal["station.online"]
    delivery_id: str
    """The same in all attempts, so that a receiver can ignore repeats."""
    occurred_at: str
    """When the event happened."""
    sent_at: str
    """When this attempt was sent."""
    data: Station


class ReservationCreatedDelivery(TypedDict):
    event: Literal["reservation.created"]
    delivery_id: str
    """The same in all attempts, so that a receiver can ignore repeats."""
    occurred_at: str
    """When the event happened."""
    sent_at: str
    """When this attempt was sent."""
    data: Reservation


class ReservationCancelledDelivery(TypedDict):
    event: Literal["reservation.cancelled"]
    delivery_id: str
    """The same in all attempts, so that a receiver can ignore repeats."""
    occurred_at: str
    """When the event happened."""
    sent_at: str
    """When this attempt was sent."""
    data: Reservation


class ReservationExpiredDelivery(TypedDict):
    event: Literal["reservation.expired"]
    delivery_id: str
    """The same in all attempts, so that a receiver can ignore repeats."""
    occurred_at: str
    """When the event happened."""
    sent_at: str
    """When this attempt was sent."""
    data: Reservation


class ReservationFulfilledDelivery(TypedDict):
    event: Literal["reservation.fulfilled"]
    delivery_id: str
    """The same in all attempts, so that a receiver can ignore repeats."""
    occurred_at: str
    """When the event happened."""
    sent_at: str
    """When this attempt was sent."""
    data: Reservation


class AlertOpenedDelivery(TypedDict):
    event: Literal["alert.opened"]
    delivery_id: str
    """The same in all attempts, so that a receiver can ignore repeats."""
    occurred_at: str
    """When the event happened."""
    sent_at: str
    """When this attempt was sent."""
    data: Alert


class AlertEndedDelivery(TypedDict):
    event: Literal["alert.ended"]
    delivery_id: str
    """The same in all attempts, so that a receiver can ignore repeats."""
    occurred_at: str
    """When the event happened."""
    sent_at: str
    """When this attempt was sent."""
    data: Alert


class StationBelowThresholdDelivery(TypedDict):
    event: Literal["station.below_threshold"]
    delivery_id: str
    """The same in all attempts, so that a receiver can ignore repeats."""
    occurred_at: str
    """When the event happened."""
    sent_at: str
    """When this attempt was sent."""
    data: ThresholdStation


class StationBackToNormalDelivery(TypedDict):
    event: Literal["station.back_to_normal"]
    delivery_id: str
    """The same in all attempts, so that a receiver can ignore repeats."""
    occurred_at: str
    """When the event happened."""
    sent_at: str
    """When this attempt was sent."""
    data: ThresholdStation


class StationUpdatedDelivery(TypedDict):
    event: Literal["station.updated"]
    delivery_id: str
    """The same in all attempts, so that a receiver can ignore repeats."""
    occurred_at: str
    """When the event happened."""
    sent_at: str
    """When this attempt was sent."""
    data: Station


class BikeStateChangedDelivery(TypedDict):
    event: Literal["bike.state_changed"]
    delivery_id: str
    """The same in all attempts, so that a receiver can ignore repeats."""
    occurred_at: str
    """When the event happened."""
    sent_at: str
    """When this attempt was sent."""
    data: Bike

EventRecord = Union[
    RideStartedEvent,
    RideCompletedEvent,
    RideCancelledEvent,
    RideCorrectedEvent,
    StationOfflineEvent,
    StationOnlineEvent,
    ReservationCreatedEvent,
    ReservationCancelledEvent,
    ReservationExpiredEvent,
    ReservationFulfilledEvent,
    AlertOpenedEvent,
    AlertEndedEvent,
    StationBelowThresholdEvent,
    StationBackToNormalEvent,
]
"""Something that happened. `data` is the resource as a GET showed it at that moment."""
Delivery = Union[
    RideStartedDelivery,
    RideCompletedDelivery,
    RideCancelledDelivery,
    RideCorrectedDelivery,
    StationOfflineDelivery,
    StationOnlineDelivery,
    ReservationCreatedDelivery,
    ReservationCancelledDelivery,
    ReservationExpiredDelivery,
    ReservationFulfilledDelivery,
    AlertOpenedDelivery,
    AlertEndedDelivery,
    StationBelowThresholdDelivery,
    StationBackToNormalDelivery,
    StationUpdatedDelivery,
    BikeStateChangedDelivery,
]
"""The body of a delivery. Compare `event` with a name to know what `data` holds; accept unknown names."""
