/** The scopes of a partner's keys, and the permissions of each. */
export const scopes = {
  "stations:read": "list and read stations, vehicle types, regions and alerts",
  "history:read": "read the history of stations, the fleet and rides, and forecasts",
  "rides:read": "list and read rides",
  "bikes:read": "list and read bikes",
  "reservations:read": "list and read its own reservations",
  "reservations:write": "create, extend and cancel reservations",
  "exports:read": "list and download files of open data that the operator shares",
  "events:read": "list and read the events of the resources it may read",
  "deliveries:read": "list and read the deliveries of its own webhooks, and why they fail",
  "deliveries:write": "send deliveries of its own webhooks again",
} as const;

export type Scope = keyof typeof scopes;

/** Every scope's name. */
export const scopeNames = Object.keys(scopes) as [Scope, ...Scope[]];

/** Tells whether a text names a scope. */
export function isScope(text: string): text is Scope {
  return Object.hasOwn(scopes, text);
}

/**
 * Returns the scope that a key needs to see an event: the scope of the event's resource. To read the events list, the key
 * needs `events:read` too.
 */
export function scopeOfEvent(event: string): Scope {
  const [resource] = event.split(".");
  // Alerts have no scope of their own. They are about stations.
  if (resource === "alert") return "stations:read";
  return `${resource}s:read` as Scope; // `ride.started` is about a ride: `rides:read`
}
