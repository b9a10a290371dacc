"""Every endpoint of the partner API, and its limits."""

# Made from the OpenAPI document by `pnpm --filter @bikeshare/sdk-python run generate`. Do not edit here.

from .._core.request import Route

STATIONS_LIST = Route("GET", "/v1/stations", 200)
STATIONS_TYPICAL = Route("GET", "/v1/stations/{id}/typical", 200)
STATIONS_FORECAST = Route("GET", "/v1/stations/{id}/forecast", 200)
STATIONS_GET = Route("GET", "/v1/stations/{id}", 200)
STATIONS_HISTORY = Route("GET", "/v1/stations/{id}/history", 200)
VEHICLE_TYPES_LIST = Route("GET", "/v1/vehicle_types", 200)
REGIONS_LIST = Route("GET", "/v1/regions", 200)
ALERTS_LIST = Route("GET", "/v1/alerts", 200)
ALERTS_GET = Route("GET", "/v1/alerts/{id}", 200)
RIDES_LIST = Route("GET", "/v1/rides", 200)
RIDES_GET = Route("GET", "/v1/rides/{id}", 200)
BIKES_LIST = Route("GET", "/v1/bikes", 200)
BIKES_GET = Route("GET", "/v1/bikes/{id}", 200)
RESERVATIONS_LIST = Route("GET", "/v1/reservations", 200)
RESERVATIONS_CREATE = Route("POST", "/v1/reservations", 201, is_idempotent=True)
RESERVATIONS_GET = Route("GET", "/v1/reservations/{id}", 200)
RESERVATIONS_EXTEND = Route("PATCH", "/v1/reservations/{id}", 200, is_idempotent=True)
RESERVATIONS_CANCEL = Route("DELETE", "/v1/reservations/{id}", 200)
EVENTS_LIST = Route("GET", "/v1/events", 200)
EVENTS_GET = Route("GET", "/v1/events/{id}", 200)
DELIVERIES_LIST = Route("GET", "/v1/deliveries", 200)
DELIVERIES_GET = Route("GET", "/v1/deliveries/{id}", 200)
DELIVERIES_RESEND = Route("POST", "/v1/deliveries/{id}/resend", 200, is_idempotent=True)
FLOWS_LIST = Route("GET", "/v1/flows", 200)
SYSTEM_SUMMARY = Route("GET", "/v1/system/summary", 200)
EXPORTS_LIST = Route("GET", "/v1/exports", 200)
EXPORTS_GET = Route("GET", "/v1/exports/{id}", 200)
ME_GET = Route("GET", "/v1/me", 200)
HEALTH_LIVE = Route("GET", "/healthz", 200, is_open=True)
HEALTH_READY = Route("GET", "/readyz", 200, is_open=True)
SANDBOX_SHOW = Route("GET", "/sandbox/v1", 200)
SANDBOX_RESET = Route("POST", "/sandbox/v1/reset", 200)
SANDBOX_CLOCK = Route("GET", "/sandbox/v1/clock", 200)
SANDBOX_ADVANCE = Route("POST", "/sandbox/v1/clock/advance", 202, is_once=True)
SANDBOX_SCENARIO = Route("POST", "/sandbox/v1/scenarios/{name}", 200, is_once=True)
SANDBOX_ADD_FAULT = Route("POST", "/sandbox/v1/faults", 200, is_once=True)
SANDBOX_END_FAULTS = Route("DELETE", "/sandbox/v1/faults", 200)
SANDBOX_SET_WEBHOOK_FAULTS = Route("POST", "/sandbox/v1/webhooks/faults", 200)
SANDBOX_TRIGGER = Route("POST", "/sandbox/v1/events/{name}", 200, is_once=True)

RATE_LIMIT = 60
"""Requests that a key may make in any window by default."""
RATE_WINDOW_SECONDS = 60
"""Seconds of a window."""
MAX_PAGE_SIZE = 200
"""Most items on a page."""
