/** Works on units that are set aside one by one, by their names in the database. */
export type WorkName =
  | "expire-reservation"
  | "end-alert"
  | "number-event"
  | "notify-of-station"
  | "compare-station"
  | "follow-feed"
  | "send-mail";

/** After so many processes in a row end while they work on a unit, it is set aside, as with deliveries of webhooks. */
export const MAX_CRASHES = 3;
