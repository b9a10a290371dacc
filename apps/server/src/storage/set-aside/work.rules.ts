/** The names, as stored in the database, of background work whose units can be set aside one by one. */
export type WorkName =
  | "expire-reservation"
  | "end-alert"
  | "number-event"
  | "notify-of-station"
  | "compare-station"
  | "follow-feed"
  | "send-mail";

/** A unit is set aside when this many processes in a row have ended while they worked on it. So is a webhook delivery. */
export const MAX_CRASHES = 3;
