/** Works on units that are set aside one by one, by their names in the database. Each says what its unit is. */
export const workNames = {
  "expire-reservation": "reservation",
  "number-event": "event",
  "notify-of-station": "station",
  "follow-feed": "source",
} as const;

export type WorkName = keyof typeof workNames;

/** So many processes in a row that end while they work on a unit, and it is set aside, as with deliveries of webhooks. */
export const MAX_CRASHES = 3;
