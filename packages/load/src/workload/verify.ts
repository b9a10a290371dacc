import { setTimeout } from "node:timers/promises";
import type { EventRecord } from "@bikeshare/contract";
import type { Receiver } from "../webhooks/receiver.ts";
import { checkLifeEvents, checkStationEdges, checkWalk } from "./event-checks.ts";
import { createFindings, type Findings } from "./findings.ts";
import type { Ledger } from "./ledger.ts";
import { countEvents, type Item, walk, walkEvents } from "./lists.ts";

/*
 * Checks after a workload that the service has kept its promises. The ledger has what the service acknowledged to the
 * clients.
 */

/** What the verification compares. */
export interface VerifyOptions {
  readonly base: string;
  readonly partnerKeys: readonly string[];
  readonly ledger: Ledger;
  /** The partners' receivers, in the order of their keys. Undefined: the partners have no endpoints. */
  readonly receiver?: Receiver | undefined;
  /** Milliseconds for events to arrive after the workload has stopped. */
  readonly arriveWithinMs?: number;
}

/** What the verification has found. */
export interface WorkloadReport {
  /** Failures; empty: nothing was lost or done twice, and every event arrived. */
  readonly failures: readonly string[];
  readonly rides: number;
  readonly reservations: number;
  /** The number of events in all partners' lists. Each event of a partner's list must be delivered to the partner. */
  readonly events: number;
  /** Deliveries that arrived more than once. */
  readonly repeated: number;
  /** Arrivals of deliveries, repeated ones included. */
  readonly receipts: number;
  /** Milliseconds from each event to the first arrival of its delivery, sorted. */
  readonly delaysMs: readonly number[];
}

/**
 * Enough for the reservations that clients leave to expire (a minute), for the expiry to be written, and for a killed
 * worker's lease to end.
 */
const ARRIVE_WITHIN_MS = 180_000;
const POLL_INTERVAL_MS = 500;

/** Compares the service's lists and the received webhooks with the acknowledged results. Call it after `stop`. */
export async function verifyWorkload(options: VerifyOptions): Promise<WorkloadReport> {
  const { base, partnerKeys, ledger, receiver, arriveWithinMs = ARRIVE_WITHIN_MS } = options;
  const findings = createFindings();
  const unverified = receiver?.ledger.unverifiedReasons ?? [];
  for (const each of [...ledger.failures, ...ledger.requests.wrongAnswers, ...unverified]) {
    findings.expect(false, () => each);
  }
  const until = performance.now() + arriveWithinMs;
  // First, because reservations that are still active change the lists that are read next.
  await untilNoneActive(base, partnerKeys, until);
  // All partners see the same rides.
  const [firstKey = ""] = partnerKeys;
  const rides = await walk(base, firstKey, "/v1/rides");
  compareRides(ledger, rides, findings);
  let allEvents = 0;
  for (const [partner, key] of partnerKeys.entries()) {
    const reservations = await walk(base, key, "/v1/reservations");
    compareReservations(ledger, partner, reservations, findings);
    const receipts = receiver?.ledger.receipts(partner);
    const events = await untilArrived(base, key, receipts, until);
    allEvents += events.length;
    checkWalk(events, await countEvents(base, key), findings);
    checkLifeEvents("ride", events, rides, findings);
    checkLifeEvents("reservation", events, reservations, findings);
    checkStationEdges(events, findings);
    if (receipts !== undefined) compareDeliveries(events, receipts, partner, findings);
  }
  const allReceipts = partnerKeys.flatMap((_, partner) => [...(receiver?.ledger.receipts(partner).values() ?? [])]);
  // The clients have ended, so nothing else uses the ledger's connections.
  ledger.requests.close();
  return {
    failures: findings.failures,
    rides: rides.length,
    reservations: ledger.reservations.size,
    events: allEvents,
    repeated: allReceipts.filter(({ times }) => times > 1).length,
    receipts: allReceipts.reduce((sum, { times }) => sum + times, 0),
    delaysMs: allReceipts.map(({ delayMs }) => delayMs).toSorted((a, b) => a - b),
  };
}

/** Waits until the remaining reservations have expired, or the time is over. */
async function untilNoneActive(base: string, keys: readonly string[], until: number): Promise<void> {
  for (const key of keys) {
    while ((await walk(base, key, "/v1/reservations?status=active")).length > 0 && performance.now() < until) {
      await setTimeout(POLL_INTERVAL_MS);
    }
  }
}

/**
 * Waits until no new events appear and all are delivered, or the time is over. @returns the events of a partner's list
 */
async function untilArrived(base: string, key: string, receipts: Receipts | undefined, until: number) {
  // -1: there is no earlier count.
  for (let before = -1; ;) {
    const events = await walkEvents(base, key);
    // Without receipts the partner has no endpoint, and nothing is delivered.
    const areDelivered = receipts === undefined || events.every((event) => receipts.has(nameOf(event)));
    const isDone = events.length === before && areDelivered;
    if (isDone || performance.now() > until) return events;
    before = events.length;
    await setTimeout(POLL_INTERVAL_MS);
  }
}

type Receipts = ReturnType<Receiver["ledger"]["receipts"]>;

function nameOf({ event, data }: EventRecord): string {
  return `${event} ${data.id}`;
}

/** Expects exactly the acknowledged rides, unchanged. */
function compareRides(ledger: Ledger, shown: readonly Item[], { expect }: Findings): void {
  const byId = new Map(shown.map((ride) => [ride["id"], ride]));
  expect(byId.size === shown.length, () => `the walk of rides shows ${shown.length - byId.size} of them twice`);
  for (const [id, acknowledged] of ledger.rides) {
    const found = byId.get(id);
    const isSame =
      found?.["bike_id"] === acknowledged.bikeId &&
      found["status"] === acknowledged.status &&
      isSameTime(found["started_at"], acknowledged.startedAt) &&
      isSameTime(found["ended_at"], acknowledged.endedAt);
    expect(isSame, () => `ride ${id}: acknowledged ${JSON.stringify(acknowledged)}, shown ${JSON.stringify(found)}`);
  }
  for (const id of byId.keys()) {
    expect(ledger.rides.has(String(id)), () => `ride ${String(id)} was never acknowledged`);
  }
}

/** How much earlier a stored time may be than the sent one: commands that share a transaction share its time. */
const MAX_AHEAD_MS = 100;

function isSameTime(shown: unknown, sent: string | undefined): boolean {
  // A time that was never set is null in the list and undefined in the ledger.
  if (typeof shown !== "string" || sent === undefined) return (shown ?? undefined) === sent;
  const aheadMs = Date.parse(sent) - Date.parse(shown);
  return aheadMs >= 0 && aheadMs <= MAX_AHEAD_MS;
}

/** The status that the service shows at the end, by how the client ended a reservation. `left`: it let it expire. */
const SHOWN_STATUS = { none: "active", cancelled: "cancelled", fulfilled: "fulfilled", left: "expired" } as const;

/**
 * Expects exactly the acknowledged reservations, each as it ended. A repeat must not create a second one. If others may end
 * reservations, only one that its client has cancelled has a certain end.
 */
function compareReservations(ledger: Ledger, partner: number, shown: readonly Item[], { expect }: Findings): void {
  const byId = new Map(shown.map((reservation) => [reservation["id"], reservation]));
  for (const [id, acknowledged] of ledger.reservations) {
    if (acknowledged.partner !== partner) continue;
    const found = byId.get(id);
    const isSame =
      found?.["bike_id"] === acknowledged.bikeId &&
      found["rider_ref"] === acknowledged.riderRef &&
      (found["status"] === SHOWN_STATUS[acknowledged.end] ||
        (ledger.othersEndReservations && acknowledged.end !== "cancelled"));
    expect(isSame, () => `reservation ${id}: ${JSON.stringify(acknowledged)}, shown ${JSON.stringify(found)}`);
  }
  for (const id of byId.keys()) {
    const isKnown = ledger.reservations.get(String(id))?.partner === partner;
    expect(isKnown, () => `reservation ${String(id)} was never acknowledged to partner ${partner}`);
  }
}

/** Expects exactly the events of the list to be delivered, each under one id. */
function compareDeliveries(
  events: readonly EventRecord[],
  receipts: Receipts,
  partner: number,
  { expect }: Findings,
): void {
  const names = new Set(events.map(nameOf));
  for (const name of names) expect(receipts.has(name), () => `${name} was not delivered to partner ${partner}`);
  for (const [name, { deliveryIds }] of receipts) {
    expect(names.has(name), () => `${name} was delivered to partner ${partner}, but no list has it`);
    expect(deliveryIds.size === 1, () => `${name} was delivered under several ids: ${[...deliveryIds].join(", ")}`);
  }
}
