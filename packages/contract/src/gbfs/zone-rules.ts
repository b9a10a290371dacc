const allowed = { ride_start_allowed: true, ride_end_allowed: true, ride_through_allowed: true } as const;

/** The usual rules of geofencing zones, the strongest first, for files of a map program, which have none. */
export const usualZoneRules = {
  "no-riding": { ride_start_allowed: false, ride_end_allowed: false, ride_through_allowed: false },
  "no-parking": { ...allowed, ride_end_allowed: false },
  "stations-only": { ...allowed, station_parking: true },
  slow: { ...allowed, maximum_speed_kph: 10 },
  /** Also the rule outside all zones while nobody has set another. */
  open: allowed,
} as const;

export type UsualZoneRule = keyof typeof usualZoneRules;
