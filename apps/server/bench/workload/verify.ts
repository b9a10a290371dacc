import { setTimeout } from "node:timers/promises";
import type { EventRecord } from "@bikeshare/contract";
import { checkLifeEvents, checkWalk } from "../soak/events-check.ts";
import { createFindings, type Findings } from "../soak/findings.ts";
import { countEvents, walk, walkEvents } from "../soak/walk.ts";
import type { Ledger } from "./ledger.ts";
import type { PreparedSystem } from "./prepare.ts";
import type { Receiver } from "./receiver.ts";

export interface VerifyOptions {
  readonly base: string;
  readonly system: PreparedSystem;
  readonly ledger: Ledger;
  readonly receiver: Receiver;
  /** Milliseconds that events may take to arrive once the workload has stopped. */
  readonly arriveWithinMs?: number;
}

export interface WorkloadReport {
  /** What is wrong; empty: nothing was lost, nothing was done twice, and every event arrived. */
  readonly failures: readonly string[];
  readonly rides: number;
  readonly reservations: number;
  /** As the partners' lists have them, added up; each is a delivery. */
  readonly events: number;
  /** Deliveries that came more than once, and how often they came in all. */
  readonly repeated: number;
  readonly receipts: number;
  /** Milliseconds from when things happened to their first delivery, sorted. */
  readonly delaysMs: readonly number[];
}

/** For the longest hold, the sweeper behind it, and a lease of a worker that was killed. */
const ARRIVE_WITHIN_MS = 180_000;
const POLL_INTERVAL_MS = 500;

/** Compares what the service shows, and what the receivers got, with what was acknowledged. To be called after `stop`. */
export async function verifyWorkload(options: VerifyOptions): Promise<WorkloadReport> {
  const { base, system, ledger, receiver, arriveWithinMs = ARRIVE_WITHIN_MS } = options;
  const findings = createFindings();
  for (const each of [...ledger.failures, ...ledger.requests.wrongAnswers, ...receiver.failures]) {
    findings.expect(false, () => each);
  }
  const until = performance.now() + arriveWithinMs;
  const [firstKey = ""] = system.partnerKeys;
  await untilNoneActive(base, system.partnerKeys, until);
  const rides = await walk(base, firstKey, "/v1/rides");
  compareRides(ledger, rides, findings);
  let allEvents = 0;
  for (const [partner, key] of system.partnerKeys.entries()) {
    const reservations = await walk(base, key, "/v1/reservations");
    compareReservations(ledger, partner, reservations, findings);
    const events = await untilArrived(base, key, receiver, partner, until);
    allEvents += events.length;
    checkWalk(events, await countEvents(base, key), findings);
    checkLifeEvents("ride", events, rides, findings);
    checkLifeEvents("reservation", events, reservations, findings);
    compareDeliveries(events, receiver, partner, findings);
  }
  const receipts = system.partnerKeys.flatMap((_, partner) => [...receiver.deliveries(partner).values()]);
  return {
    failures: findings.failures,
    rides: rides.length,
    reservations: ledger.reservations.size,
    events: allEvents,
    repeated: receipts.filter(({ times }) => times > 1).length,
    receipts: receipts.reduce((sum, { times }) => sum + times, 0),
    delaysMs: receipts.map(({ delayMs }) => delayMs).toSorted((a, b) => a - b),
  };
}

/** Those that were left expire by themselves. */
async function untilNoneActive(base: string, keys: readonly string[], until: number): Promise<void> {
  for (const key of keys) {
    while ((await walk(base, key, "/v1/reservations?status=active")).length > 0 && performance.now() < until) {
      await setTimeout(POLL_INTERVAL_MS);
    }
  }
}

/** @returns the events of a partner's list, once all of them have been delivered or the time is over */
async function untilArrived(
  base: string,
  key: string,
  receiver: Receiver,
  partner: number,
  until: number,
): Promise<EventRecord[]> {
  for (let before = -1; ;) {
    const events = await walkEvents(base, key);
    const got = receiver.deliveries(partner);
    const isDone = events.length === before && events.every((event) => got.has(nameOf(event)));
    if (isDone || performance.now() > until) return events;
    before = events.length;
    await setTimeout(POLL_INTERVAL_MS);
  }
}

function nameOf({ event, data }: EventRecord): string {
  return `${event} ${data.id}`;
}

/** Every ride that was acknowledged is there as it was acknowledged, and no other. */
function compareRides(ledger: Ledger, shown: readonly Record<string, unknown>[], { expect }: Findings): void {
  const byId = new Map(shown.map((ride) => [ride["id"], ride]));
  expect(byId.size === shown.length, () => `the walk of rides shows ${shown.length - byId.size} of them twice`);
  for (const [id, acknowledged] of ledger.rides) {
    const found = byId.get(id);
    const isSame =
      found?.["bike_id"] === acknowledged.bikeId &&
      found["status"] === acknowledged.status &&
      found["started_at"] === acknowledged.startedAt &&
      (found["ended_at"] ?? undefined) === acknowledged.endedAt;
    expect(isSame, () => `ride ${id}: acknowledged ${JSON.stringify(acknowledged)}, shown ${JSON.stringify(found)}`);
  }
  for (const id of byId.keys()) {
    expect(ledger.rides.has(String(id)), () => `ride ${String(id)} was never acknowledged`);
  }
}

const SHOWN_STATUS = { none: "active", cancelled: "cancelled", fulfilled: "fulfilled", left: "expired" } as const;

/** Every reservation that was acknowledged is there as it ended, and no other: no repeat has made a second one. */
function compareReservations(
  ledger: Ledger,
  partner: number,
  shown: readonly Record<string, unknown>[],
  { expect }: Findings,
): void {
  const byId = new Map(shown.map((reservation) => [reservation["id"], reservation]));
  for (const [id, acknowledged] of ledger.reservations) {
    if (acknowledged.partner !== partner) continue;
    const found = byId.get(id);
    const isSame =
      found?.["bike_id"] === acknowledged.bikeId &&
      found["rider_ref"] === acknowledged.riderRef &&
      found["status"] === SHOWN_STATUS[acknowledged.end];
    expect(isSame, () => `reservation ${id}: ${JSON.stringify(acknowledged)}, shown ${JSON.stringify(found)}`);
  }
  for (const id of byId.keys()) {
    const isKnown = ledger.reservations.get(String(id))?.partner === partner;
    expect(isKnown, () => `reservation ${String(id)} was never acknowledged to partner ${partner}`);
  }
}

/** Every event of the list was delivered, always under one id, and nothing else was. */
function compareDeliveries(
  events: readonly EventRecord[],
  receiver: Receiver,
  partner: number,
  { expect }: Findings,
): void {
  const receipts = receiver.deliveries(partner);
  const names = new Set(events.map(nameOf));
  for (const name of names) expect(receipts.has(name), () => `${name} was not delivered to partner ${partner}`);
  for (const [name, { deliveryIds }] of receipts) {
    expect(names.has(name), () => `${name} was delivered to partner ${partner}, but no list has it`);
    expect(deliveryIds.size === 1, () => `${name} was delivered under several ids: ${[...deliveryIds].join(", ")}`);
  }
}
