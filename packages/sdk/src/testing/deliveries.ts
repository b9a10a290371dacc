import type {
  DeliveryDetail,
  DeliveryListQuery,
  DeliveryRecord,
  DeliveryRecordList,
  Resend,
} from "../json-types.generated.ts";
import { type City, instant } from "./city.ts";
import { blank } from "./contract.generated.ts";
import { decodeCursor, encodeCursor } from "./lists.ts";
import type { Values } from "./parameters.ts";
import {
  compareIds,
  cursorScope,
  EVENT_RETENTION_DAYS,
  MAX_PAGE_SIZE,
  readPageRequest,
  serviceError,
} from "./rules.ts";

/*
 * The deliveries of the fake service, which partners' tests use instead of a real one. A test puts them there; lists, single
 * deliveries and resends are answered from them.
 */

/** The fields of a delivery. Default: it arrived just now, with as many `attempts` as `attempt_log` has. */
export type DeliveryFields = Partial<DeliveryDetail> & Pick<DeliveryDetail, "id">;

/** Adds a delivery of a partner. Nothing is sent. */
export function putDelivery(city: City, partnerId: string, fields: DeliveryFields): void {
  const now = instant(city.now());
  const { attempt_log = [], status = "succeeded" } = fields;
  const isFinished = status !== "pending";
  const endpoint = { endpoint_id: "endpoint_000001", endpoint_name: "Main" };
  const made = { ...blank.DeliveryRecord, ...endpoint, event: "ride.completed", created_at: now };
  const ended = { status, attempts: attempt_log.length, finished_at: isFinished ? now : null };
  const is_failing = status === "pending" && attempt_log.length > 0;
  // The given fields replace the defaults.
  const shown = { ...made, ...ended, is_failing, attempt_log, ...fields };
  city.deliveries.set(fields.id, { partnerId, shown });
}

/**
 * Returns one page of a partner's deliveries, newest first.
 * @throws ServiceError `invalid_parameter` when `since` is not before `until`; `invalid_cursor`
 */
export function deliveriesOf(city: City, partnerId: string, query: Values): DeliveryRecordList {
  const { limit: wanted, cursor: given, ...filters } = query as DeliveryListQuery;
  const { since, until } = filters;
  if (since !== undefined && until !== undefined && Date.parse(since) >= Date.parse(until))
    throw serviceError("invalid_parameter", "deliveriesReversed");
  const scope = cursorScope("", "deliveries", { ...filters, partnerId });
  const paging = { limit: wanted === undefined ? undefined : Math.min(wanted, MAX_PAGE_SIZE), cursor: given };
  const asked = readPageRequest(paging, (text) => decodeCursor<readonly [string, string]>(scope, text));
  const after = asked.kind === "cursor" ? asked.after : undefined;
  const found = ownDeliveries(city, partnerId)
    .filter((delivery) => passes(delivery, filters))
    .sort((a, b) => compare(b, [a.created_at, a.id]))
    .filter((delivery) => after === undefined || compare(delivery, after) < 0);
  const data = found.slice(0, asked.limit).map(recordOf);
  const last = data.at(-1);
  if (found.length <= asked.limit || last === undefined) return { data };
  return { data, next_cursor: encodeCursor(scope, [last.created_at, last.id] as const) };
}

/** Returns a partner's delivery. @throws ServiceError `not_found` */
export function findDelivery(city: City, partnerId: string, id: string): DeliveryDetail {
  const found = city.deliveries.get(id);
  if (found?.partnerId === partnerId) return found.shown;
  throw serviceError("not_found", "delivery", { id, days: EVENT_RETENTION_DAYS });
}

/**
 * Makes a delivery due now. It stays due, because the fake sends nothing.
 * @throws ServiceError `not_found`; `conflict` for a test delivery, and for a held one, because its webhook is paused
 */
export function resendDelivery(city: City, partnerId: string, id: string): Resend {
  const shown = findDelivery(city, partnerId, id);
  if (id.endsWith("_test")) throw serviceError("conflict", "testDelivery", { id });
  if (shown.status === "held") throw serviceError("conflict", "endpointPaused");
  const now = instant(city.now());
  const isPending = shown.status === "pending";
  if (isPending && (shown.next_attempt_at === null || shown.next_attempt_at <= now))
    return { id, outcome: "already_due" };
  const due = {
    status: "pending",
    is_failing: shown.failure !== null,
    next_attempt_at: now,
    finished_at: null,
  } as const;
  city.deliveries.set(id, { partnerId, shown: { ...shown, ...due } });
  return { id, outcome: isPending ? "retried_now" : "redelivered" };
}

function ownDeliveries(city: City, partnerId: string): DeliveryDetail[] {
  return [...city.deliveries.values()].flatMap((each) => (each.partnerId === partnerId ? [each.shown] : []));
}

/** Tells whether a delivery passes the filters of a list. `unsuccessful` selects those that are failing or have failed. */
function passes(delivery: DeliveryDetail, { status, since, until, ...equal }: DeliveryListQuery): boolean {
  const { is_failing: isFailing, created_at: created } = delivery;
  const isAsked =
    status === undefined ||
    (status === "failing" ? isFailing : delivery.status === status) ||
    (status === "unsuccessful" && (isFailing || delivery.status === "failed"));
  const at = Date.parse(created);
  const isInTime = (since === undefined || at >= Date.parse(since)) && (until === undefined || at < Date.parse(until));
  const names = ["endpoint_id", "event", "failure", "resource_id"] as const;
  return isAsked && isInTime && names.every((name) => equal[name] === undefined || equal[name] === delivery[name]);
}

/** Compares a delivery's position in the list, oldest first, with another position. */
function compare(delivery: DeliveryRecord, [created, id]: readonly [string, string]): number {
  return compareIds(delivery.created_at, created) || compareIds(delivery.id, id);
}

/** Returns a delivery as lists show it, without its attempts. */
function recordOf({ attempt_log: _log, ...record }: DeliveryDetail): DeliveryRecord {
  return record;
}
