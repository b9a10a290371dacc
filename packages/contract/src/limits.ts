// Numbers of the interface. This file imports nothing, so that packages without zod can take them too.

/** The default number of requests that a key may make in any window of `RATE_WINDOW_SECONDS`. */
export const DEFAULT_RATE_LIMIT = 60;

/** Length of the rate limit's sliding window, in seconds. */
export const RATE_WINDOW_SECONDS = 60;

/** Items on a page when `limit` is not given. */
export const DEFAULT_PAGE_SIZE = 50;

/** Maximum items on a page. A request with a larger `limit` is not rejected: it gets this many. */
export const MAX_PAGE_SIZE = 200;

/** Minutes that a reservation holds a bike when the request names no number. */
export const DEFAULT_HOLD_MINUTES = 15;

/** Maximum minutes that a new reservation holds a bike, and maximum minutes of one extension. */
export const MAX_HOLD_MINUTES = 30;

/** Maximum minutes that a reservation holds a bike in total, with all extensions. */
export const MAX_TOTAL_HOLD_MINUTES = 60;

/** The default number of active reservations that a partner may have at once. */
export const DEFAULT_MAX_RESERVATIONS = 50;

/** Minimum seconds of a ride that counts. MDS does not count shorter ones: the bike was tried and put back. */
export const COUNTABLE_FROM_SECONDS = 60;

/** Days for which events are kept. */
export const EVENT_RETENTION_DAYS = 30;

/** Pages and checks count an endpoint's pending and held deliveries up to this number: counting more takes too long. */
export const MAX_COUNTED_DELIVERIES = 10_000;

/** Days for which requests are logged, and counted by the minute. */
export const REQUEST_LOG_DAYS = 7;

/** Days for which requests are counted by the day. */
export const USAGE_RETENTION_DAYS = 400;

/**
 * Days for which the history of stations is kept: 13 months, also with a leap day, so that a month can be compared with the
 * year before.
 */
export const HISTORY_RETENTION_DAYS = 397;

/** Maximum steps in one response of a station's history: a month of quarters of an hour. */
export const MAX_HISTORY_STEPS = 3000;

/** Hours for which the answer to an `Idempotency-Key` is kept. */
export const IDEMPOTENCY_KEY_HOURS = 24;

/** Days for which an alert is kept after its end: a season, because riders and partners ask about past alerts. */
export const ALERT_RETENTION_DAYS = 90;

/** Most bytes of a request's body. */
export const MAX_BODY_BYTES = 1024 ** 2;

/** Most characters in an identifier. Operators' ids seen in the wild have up to 40. */
export const MAX_IDENTIFIER_LENGTH = 255;

/** Most characters of a `rider_ref`. */
export const MAX_RIDER_REF_LENGTH = 64;

/** Most characters of an `Idempotency-Key`. */
export const MAX_IDEMPOTENCY_KEY_LENGTH = 255;

/** Years for which the whole system's sums by quarter of an hour are kept, so that years can be compared. */
export const SYSTEM_SUM_RETENTION_YEARS = 5;

/** Days for which the vehicle events that agencies read are kept: 13 months. */
export const VEHICLE_EVENT_DAYS = 396;

/** Flows leave out pairs of stations with fewer rides, because such a pair could reveal one person's trip. */
export const MIN_FLOW_RIDES = 5;

/** Most days of flows in one request. */
export const MAX_FLOW_DAYS = 92;

/** Most steps of a summary: ten days of quarters, 41 days of hours. */
export const MAX_SUMMARY_STEPS = 1000;

/** Days of a station's history that are needed before its usual day is shown: three of each day of the week. */
export const TYPICAL_MIN_DAYS = 21;

/** Days of a station's history that are needed before a forecast uses the station's usual changes. */
export const FORECAST_MIN_DAYS = 28;

/** Maximum rides that a partner's sandbox stores. */
export const MAX_SANDBOX_RIDES = 20_000;

/** The highest rate limit of a key, in requests in any 60 s. No caller needs so many, so a higher number is a typo. */
export const MAX_RATE_LIMIT = 1_000_000;

/** Maximum days until the expiry of a key that a partner's own people make. */
export const MAX_OWN_KEY_DAYS = 3650;

/** Maximum keys made by a partner's own people that may work at once: more than any partner has programs. */
export const MAX_OWN_KEYS = 100;

/**
 * The highest number of active reservations that a partner may have. It exceeds the bikes of any city, and so rejects mistyped
 * numbers only.
 */
export const MAX_RESERVATION_LIMIT = 1_000_000;

/** The highest `fewer_than` of a threshold: no station has more bikes or docks. */
export const MAX_FEWER_THAN = 1_000;

/** The longest `for_minutes` of a threshold: a day. */
export const MAX_FOR_MINUTES = 1_440;

/** The highest hourly limit of an endpoint (`max_per_hour`): one message in 36 ms. */
export const MAX_MESSAGES_PER_HOUR = 100_000;

/** Maximum characters of a partner's name. */
export const MAX_PARTNER_NAME = 200;

/** Maximum characters of an endpoint's name. */
export const MAX_ENDPOINT_NAME = 60;

/** Maximum characters of a key's name. */
export const MAX_KEY_NAME = 100;

/** Maximum characters of a person's name. */
export const MAX_PERSON_NAME = 100;

/** Maximum characters of a passkey's name. */
export const MAX_PASSKEY_NAME = 100;

/** Maximum characters of a mail address, as SMTP bounds them (RFC 5321). */
export const MAX_MAIL_ADDRESS = 254;

/** Maximum characters of a time zone's name. The longest of the IANA list has 32. */
export const MAX_TIME_ZONE = 64;

/** The fewest characters of a new password: as NIST SP 800-63B-4 asks of a password without a second factor. */
export const MIN_PASSWORD_LENGTH = 15;
