import fc from "fast-check";
import { expect, test } from "vitest";
import type { DispatchEndpoint } from "../endpoints/dispatch-endpoints.ts";
import type { ClaimedRow } from "../queue/lane-queries.ts";
import { HEALTHY } from "../rules/after-attempt.ts";
import {
  addClaimed,
  endAttempt,
  advanceCursor,
  applySettings,
  canStartAttempt,
  claimRequestFor,
  createLane,
  type Lane,
  MAX_IN_FLIGHT_PER_ENDPOINT,
  MIN_LEASE_LEFT_MS,
} from "./lanes.ts";

const endpoint: DispatchEndpoint = {
  systemId: "main",
  id: "endpoint_1",
  name: "Main",
  partnerId: "partner_1",
  url: "https://partner.example/hooks",
  status: "active",
  email: null,
  signature: "service",
  maxPerHour: null,
  secrets: [],
};
const NOW = Date.parse("2026-06-01T12:00:00.000Z");
const LEASED_UNTIL = 1_000_000;

function lane(status: DispatchEndpoint["status"] = "active"): Lane {
  return createLane(1, { ...endpoint, status }, HEALTHY, LEASED_UNTIL);
}

function row(id: string, changes: Partial<ClaimedRow> = {}): ClaimedRow {
  return {
    system_id: "main",
    endpoint_id: endpoint.id,
    delivery_id: id,
    created_on: "2026-06-01",
    attempts: 0,
    tries: 0,
    due_at: new Date(NOW),
    replay: false,
    claim: 1,
    event: "ride.started",
    occurred_at: new Date(NOW),
    data: "{}",
    ...changes,
  };
}

function rows(n: number, replay = false): ClaimedRow[] {
  return Array.from({ length: n }, (_, i) => row(`${replay ? "replay" : "regular"}_${i}`, { replay }));
}

const ids = (queue: readonly ClaimedRow[]) => queue.map(({ delivery_id: id }) => id);
const claims = (of: Lane, at = 0) => claimRequestFor(of, "regular", at, false);

/**
 * Starts every attempt that may start.
 * @returns the ids of the deliveries
 */
function begin(of: Lane): string[] {
  const begun: string[] = [];
  while (of.ready.length > 0 && canStartAttempt(of, 0)) {
    begun.push(...ids(of.ready.splice(0, 1)));
    of.inFlight++;
  }
  return begun;
}

test("whatever is claimed, begun, ended and written, no more than 10 are in flight, 20 unwritten and 110 claimed ahead", () => {
  const kinds = fc.constantFrom("claim", "begin", "end", "wait", "write");
  const steps = fc.array(fc.tuple(kinds, fc.nat(120)), { maxLength: 200 });
  fc.assert(
    fc.property(steps, (taken) => {
      const it = lane();
      const begun: string[] = [];
      let made = 0;
      for (const [step, n] of taken) {
        if (step === "claim") {
          const request = claimRequestFor(it, "regular", 0, n % 2 === 0);
          if (request !== undefined)
            addClaimed(
              it,
              rows(request.limit).map((each) => ({ ...each, delivery_id: `${made++}` })),
            );
        } else if (step === "begin") begun.push(...begin(it));
        else if (step === "write")
          for (const id of begun.splice(0, begun.length - it.inFlight)) it.unwritten.delete(id);
        else if (it.inFlight > 0) endAttempt(it, step === "wait");
        expect(begun.length).toBeLessThanOrEqual(2 * MAX_IN_FLIGHT_PER_ENDPOINT);
        expect(it.inFlight).toBeLessThanOrEqual(MAX_IN_FLIGHT_PER_ENDPOINT);
        expect(it.inFlight + it.ready.length).toBeLessThanOrEqual(MAX_IN_FLIGHT_PER_ENDPOINT + 100);
      }
    }),
    { seed: 1, numRuns: 2_000 },
  );
});

test("an endpoint that lets us wait gets half as many at a time down to one, and gets them back one by one", () => {
  const it = lane();
  const allowances = [true, true, true, true, true, false, false, false].map((waited) => {
    it.inFlight++;
    endAttempt(it, waited);
    return it.concurrencyLimit;
  });
  expect(allowances).toEqual([5, 2, 1, 1, 1, 2, 3, 4]);
});

test("a probed endpoint gets one delivery at a time, and a paused one none", () => {
  const probing = lane("probing");
  expect(claims(probing)?.limit).toBe(1);
  addClaimed(probing, rows(5));
  expect(begin(probing)).toHaveLength(1);
  expect(claims(probing)).toBeUndefined();
  const paused = lane("paused");
  expect(claims(paused)).toBeUndefined();
  addClaimed(paused, rows(5));
  expect(begin(paused)).toEqual([]);
});

test("nothing is claimed or begun with less lease left than an attempt may take", () => {
  const it = lane();
  addClaimed(it, rows(1));
  expect(canStartAttempt(it, LEASED_UNTIL - MIN_LEASE_LEFT_MS)).toBe(true);
  expect(canStartAttempt(it, LEASED_UNTIL - MIN_LEASE_LEFT_MS + 1)).toBe(false);
  expect(claims(it, LEASED_UNTIL - MIN_LEASE_LEFT_MS + 1)).toBeUndefined();
});

test("what happens now is queued before what is replayed, and asks for room as if no replays were queued", () => {
  const it = lane();
  addClaimed(it, rows(30, true));
  begin(it);
  addClaimed(it, rows(2));
  expect(ids(it.ready).slice(0, 3)).toEqual(["regular_0", "regular_1", "replay_10"]);
  expect(claims(it)?.limit).toBe(8);
  expect(claimRequestFor(it, "replay", 0, true)).toBeUndefined();
});

test("a delivery that is claimed already is not made ready a second time", () => {
  const it = lane();
  addClaimed(it, rows(2));
  addClaimed(it, rows(3));
  expect(ids(it.ready)).toEqual(["regular_0", "regular_1", "regular_2"]);
});

test("a claim begins where the last one came to, less 3 s, and now and then at the very front", () => {
  const it = lane();
  const first = claimRequestFor(it, "regular", 0, false);
  expect(first?.dueFrom).toEqual(new Date(0));
  if (first === undefined) throw new Error("there is room");
  advanceCursor(it.regular, first, rows(1), NOW, { from: 0, to: 10 });
  expect(claimRequestFor(it, "regular", 20, false)?.dueFrom).toEqual(new Date(NOW - 3_000));
  expect(claimRequestFor(it, "regular", 2_009, false)?.dueFrom).toEqual(new Date(NOW - 3_000));
  expect(claimRequestFor(it, "regular", 2_010, false)?.dueFrom).toEqual(new Date(0));
  // A full scan that takes long is repeated less often.
  advanceCursor(it.regular, first, rows(1), NOW, { from: 3_000, to: 4_000 });
  expect(claimRequestFor(it, "regular", 23_999, false)?.dueFrom).toEqual(new Date(NOW - 3_000));
  expect(claimRequestFor(it, "regular", 24_000, false)?.dueFrom).toEqual(new Date(0));
});

test("a wake-up that comes while a claim is under way is not forgotten by the claim's end", () => {
  const it = lane();
  const request = claims(it);
  if (request === undefined) throw new Error("there is room");
  it.regular.mayHaveMore = false;
  advanceCursor(it.regular, request, [], NOW, { from: 0, to: 1 });
  expect(it.regular.mayHaveMore).toBe(false);
  it.regular.mayHaveMore = true;
  advanceCursor(it.regular, request, [], NOW, { from: 0, to: 1 });
  expect(it.regular.mayHaveMore).toBe(true);
});

test("a status by the endpoint's own answers holds until it has been read again", () => {
  const it = lane();
  it.endpoint = { ...it.endpoint, status: "paused" };
  it.statusChanges.decided++;
  applySettings(it, { ...endpoint, status: "active", email: "a@example.com" });
  expect(it.endpoint).toMatchObject({ status: "paused", email: "a@example.com" });
  it.statusChanges.written++;
  applySettings(it, endpoint);
  expect(it.endpoint.status).toBe("paused");
  it.statusChanges.loaded = it.statusChanges.written;
  applySettings(it, { ...endpoint, status: "probing" });
  expect(it.endpoint.status).toBe("probing");
});

test("a new address and a resume begin with a clean record", () => {
  const failing = { ...HEALTHY, failures: 3, failingSince: NOW };
  const moved = { ...lane(), health: failing };
  applySettings(moved, { ...endpoint, url: "https://partner.example/other" });
  expect(moved.health).toEqual(HEALTHY);
  const resumed = { ...lane("paused"), health: failing };
  applySettings(resumed, { ...endpoint, status: "probing" });
  expect(resumed.health).toEqual(HEALTHY);
  const same = { ...lane(), health: failing };
  applySettings(same, { ...endpoint, email: "a@example.com" });
  expect(same.health).toBe(failing);
});
