import { setTimeout } from "node:timers/promises";
import type { Random } from "@bikeshare/simulator";
import type { Ledger } from "./ledger.ts";
import { type Answer, errorOf } from "./requests.ts";

/*
 * The clients of a workload: riders (through the operator interface), holders, which reserve bikes as partners do, and
 * readers. Each records in the ledger what the service has acknowledged. verify.ts compares that with the stored data.
 */

/** The resources and the duration of one client of a workload. */
export interface ClientOptions {
  readonly name: string;
  readonly operatorKey: string;
  /** The index of the partner that the client belongs to. */
  readonly partner: number;
  readonly partnerKey: string;
  readonly stationIds: readonly [string, ...string[]];
  /** The share of reservations that the client lets expire, from 0 to 1. */
  readonly expiringShare: number;
  /** The share of the other reservations that a ride fulfils. The rest is cancelled. */
  readonly fulfilledShare: number;
  readonly meanPauseMs: number;
  readonly random: Random;
  readonly ledger: Ledger;
  readonly signal: AbortSignal;
}

/** Error codes that a request to reserve may normally get: no bike is left, the rider has one, the station is offline. */
const EXPECTED_CODES = new Set(["no_bike_available", "rider_has_active_reservation", "station_offline"]);
/**
 * The share of requests to reserve a bike that are sent twice at once, with the same `Idempotency-Key`. The two must make
 * one reservation.
 */
const TWICE_SHARE = 0.1;

/** Waits between two requests, and at most until the workload ends. */
async function pause({ random, meanPauseMs, signal }: ClientOptions): Promise<void> {
  await setTimeout(random.next() * 2 * meanPauseMs, undefined, { signal }).catch(() => undefined);
}

/** Rides one bike from station to station through the operator interface. */
export async function runRider(options: ClientOptions, bikeId: string): Promise<void> {
  for (let n = 0; !options.signal.aborted; n++) {
    await ride(options, `${options.name}-${n}`, bikeId, {});
    await pause(options);
  }
}

/** Reserves bikes, and cancels the reservations, rides the bikes or lets the reservations expire. */
export async function runHolder(options: ClientOptions): Promise<void> {
  for (let n = 0; !options.signal.aborted; n++) {
    const id = await reserve(options, n);
    await pause(options);
    if (id !== undefined) await endReservation(options, id, n);
    await pause(options);
  }
}

/** Reads lists. */
export async function runReader(options: ClientOptions): Promise<void> {
  const { ledger, partnerKey: key, random } = options;
  const paths = ["/v1/stations", "/v1/bikes", "/v1/rides", "/v1/reservations", "/v1/events", "/v1/me"] as const;
  while (!options.signal.aborted) {
    const path = random.pick(paths);
    const { status, body } = await ledger.requests.send({ kind: "read", method: "GET", path, key });
    const isList = typeof body === "object" && body !== null && "data" in body;
    // The answer of /v1/me is one object, not a list.
    const isRight = status === 200 && (isList || path === "/v1/me");
    if (!isRight) ledger.failures.push(`GET ${path}: ${status} ${JSON.stringify(body).slice(0, 200)}`);
    await pause(options);
  }
}

/** Starts and ends a ride. @param more further fields of the command to start it @returns whether it was started */
async function ride(options: ClientOptions, id: string, bikeId: string, more: object): Promise<boolean> {
  const { ledger, random, stationIds } = options;
  const startedAt = new Date().toISOString();
  if (!(await command(options, "rides/start", { id, bike_id: bikeId, started_at: startedAt, ...more }))) return false;
  // What the service has acknowledged, and so must still have at the end.
  const promised = { bikeId, startedAt, status: "started" as "started" | "completed", endedAt: undefined };
  ledger.rides.set(id, promised);
  await pause(options);
  const endedAt = new Date().toISOString();
  const end = { id, ended_at: endedAt, end_station_id: random.pick(stationIds) };
  if (await command(options, "rides/end", end)) Object.assign(promised, { status: "completed", endedAt });
  return true;
}

/** Sends an operator's command. @returns whether it succeeded */
async function command(
  { ledger, operatorKey }: ClientOptions,
  path: string,
  item: { readonly id: string; readonly [field: string]: unknown },
): Promise<boolean> {
  const answer = await ledger.requests.send({
    kind: "write",
    method: "POST",
    path: `/operator/v1/${path}`,
    key: operatorKey,
    body: { items: [item] },
    idempotencyKey: `${path}-${item.id}`,
  });
  const outcome = (answer.body as { results?: { outcome: string }[] }).results?.[0]?.outcome;
  const isDone = outcome !== undefined && outcome !== "failed";
  if (!isDone) ledger.failures.push(`${path} ${item.id}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return isDone;
}

/** Reserves a bike. @param n makes the `Idempotency-Key` @returns the reservation's id; undefined when it was refused */
async function reserve(options: ClientOptions, n: number): Promise<string | undefined> {
  const { expiringShare, ledger, name, partner, partnerKey: key, random, stationIds } = options;
  const isLeftToExpire = random.next() < expiringShare;
  const body = {
    station_id: random.pick(stationIds),
    // A client stands for 40 riders. Some ask again while they still have a reservation, and are refused.
    rider_ref: `${name}-rider-${random.between(1, 40)}`,
    // Reservations that the client ends itself are held long enough to outlast any outage of the service.
    hold_minutes: isLeftToExpire ? 1 : 30,
  };
  const idempotencyKey = `${name}-${n}`;
  const post = () =>
    ledger.requests.send({ kind: "write", method: "POST", path: "/v1/reservations", key, body, idempotencyKey });
  const answers = await Promise.all(random.next() < TWICE_SHARE ? [post(), post()] : [post()]);
  const accepted = answers.filter(({ status }) => status === 201);
  for (const refused of answers.filter((each) => !accepted.includes(each))) {
    if (!EXPECTED_CODES.has(errorOf(refused.body) ?? ""))
      ledger.failures.push(`reserve ${name}-${n}: ${textOf(refused)}`);
  }
  const ids = new Set(accepted.map((answer) => (answer.body as { id: string }).id));
  if (ids.size > 1) ledger.failures.push(`reserve ${name}-${n}: asked twice, made ${[...ids].join(" and ")}`);
  const [first] = accepted;
  if (first === undefined) return undefined;
  const { id, bike_id: bikeId } = first.body as { id: string; bike_id: string };
  ledger.reservations.set(id, { partner, bikeId, riderRef: body.rider_ref, end: isLeftToExpire ? "left" : "none" });
  await expectShown(options, id, "active");
  return id;
}

/** Ends a reservation by a ride or a cancellation, unless it is one that is left to expire. @param n makes the ride's id */
async function endReservation(options: ClientOptions, id: string, n: number): Promise<void> {
  const { ledger, name, partnerKey: key, random } = options;
  const promised = ledger.reservations.get(id);
  if (promised === undefined || promised.end === "left") return;
  if (random.next() < options.fulfilledShare) {
    // The start of the ride fulfils the reservation, whatever becomes of its end.
    const hasStarted = await ride(options, `${name}-ride-${n}`, promised.bikeId, { reservation_id: id });
    if (hasStarted) promised.end = "fulfilled";
    return;
  }
  const path = `/v1/reservations/${id}`;
  const answer = await ledger.requests.send({ kind: "write", method: "DELETE", path, key });
  if (answer.status !== 200) {
    const isOver = ledger.othersEndReservations && errorOf(answer.body) === "reservation_not_active";
    if (!isOver) ledger.failures.push(`cancel ${id}: ${textOf(answer)}`);
    return;
  }
  promised.end = "cancelled";
  await expectShown(options, id, "cancelled");
}

/** Expects that a partner that reads a reservation sees its own last write. */
async function expectShown({ ledger, partnerKey: key }: ClientOptions, id: string, status: string): Promise<void> {
  const answer = await ledger.requests.send({ kind: "read", method: "GET", path: `/v1/reservations/${id}`, key });
  const shown = (answer.body as { status?: string }).status;
  // A reservation may expire while the service is down.
  if (shown === status || (status === "active" && (shown === "expired" || ledger.othersEndReservations))) return;
  ledger.failures.push(`reservation ${id} was acknowledged as ${status}, then read as ${textOf(answer)}`);
}

function textOf({ status, body }: Answer): string {
  return `${status} ${JSON.stringify(body).slice(0, 300)}`;
}
