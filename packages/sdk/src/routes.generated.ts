// Every endpoint of the partner API, and its limits.
// Made from packages/contract by `pnpm --filter @bikeshare/sdk run generate`. Do not edit here.

/** By noun and verb: method and path, the status of a success, and its kind if it is special. */
export const routes = {
  stations: {
    list: ["GET /v1/stations",200],
    typical: ["GET /v1/stations/:id/typical",200],
    forecast: ["GET /v1/stations/:id/forecast",200],
    get: ["GET /v1/stations/:id",200],
    history: ["GET /v1/stations/:id/history",200],
  },
  vehicleTypes: {
    list: ["GET /v1/vehicle_types",200],
  },
  regions: {
    list: ["GET /v1/regions",200],
  },
  alerts: {
    list: ["GET /v1/alerts",200],
    get: ["GET /v1/alerts/:id",200],
  },
  rides: {
    list: ["GET /v1/rides",200],
    get: ["GET /v1/rides/:id",200],
  },
  bikes: {
    list: ["GET /v1/bikes",200],
    get: ["GET /v1/bikes/:id",200],
  },
  reservations: {
    list: ["GET /v1/reservations",200],
    get: ["GET /v1/reservations/:id",200],
    create: ["POST /v1/reservations",201,"idempotent"],
    extend: ["PATCH /v1/reservations/:id",200,"idempotent"],
    cancel: ["DELETE /v1/reservations/:id",200],
  },
  events: {
    list: ["GET /v1/events",200],
    get: ["GET /v1/events/:id",200],
  },
  deliveries: {
    list: ["GET /v1/deliveries",200],
    get: ["GET /v1/deliveries/:id",200],
    resend: ["POST /v1/deliveries/:id/resend",200,"idempotent"],
  },
  flows: {
    list: ["GET /v1/flows",200],
  },
  system: {
    summary: ["GET /v1/system/summary",200],
  },
  exports: {
    list: ["GET /v1/exports",200],
    get: ["GET /v1/exports/:id",200],
  },
  me: {
    get: ["GET /v1/me",200],
  },
  health: {
    live: ["GET /healthz",200,"open"],
    ready: ["GET /readyz",200,"open"],
  },
} as const;

/** Requests that a key may make in any window by default. */
export const RATE_LIMIT = 60;
/** Milliseconds of a window. */
export const RATE_WINDOW_MS = 60000;
/** Most items on a page. */
export const MAX_PAGE_SIZE = 200;
