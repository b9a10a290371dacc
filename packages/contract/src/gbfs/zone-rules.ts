const allowed = { ride_start_allowed: true, ride_end_allowed: true, ride_through_allowed: true } as const;

/** The usual rules of geofencing zones, the strictest first. A zone drawn in a map program has none, so one is chosen. */
export const usualZoneRules = {
  "no-riding": { ride_start_allowed: false, ride_end_allowed: false, ride_through_allowed: false },
  "no-parking": { ...allowed, ride_end_allowed: false },
  "stations-only": { ...allowed, station_parking: true },
  slow: { ...allowed, maximum_speed_kph: 10 },
  /** Also applies outside all zones until the operator sets another rule there. */
  open: allowed,
} as const;

export type UsualZoneRule = keyof typeof usualZoneRules;
