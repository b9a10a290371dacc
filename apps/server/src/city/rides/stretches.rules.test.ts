import fc from "fast-check";
import { expect, test } from "vitest";
import {
  behind,
  byHour,
  changedIn,
  DAY_MS,
  HOUR_MS,
  partsOf,
  rideDay,
  type RideGroup,
  ridesBetween,
  spanOf,
  stretchesOf,
} from "./ride-day.rules.ts";

/** Stretches of ten milliseconds, the youngest first. */
const row = <N extends number | undefined>(numbers: readonly N[]) =>
  numbers.map((n, index) => ({ from: (numbers.length - index) * 10, to: (numbers.length - index) * 10 + 10, n }));

test("a page lies whole between the instants where it is looked for, at the position that counting from there gives", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(20), { maxLength: 20 }),
      fc.nat(200),
      fc.integer({ min: 1, max: 30 }),
      (numbers, skip, limit) => {
        const rides = row(numbers).flatMap(({ from, n }) =>
          Array.from({ length: n }, (_, index) => from + 9 - (index * 9) / 20),
        );
        const span = spanOf(row(numbers), skip, limit);
        const wanted = rides.slice(skip, skip + limit);
        if (span === undefined) {
          expect(wanted).toEqual([]);
          return;
        }
        const inside = rides.filter((at) => at >= span.from && at < span.to);
        const ordered = span.fromEnd ? inside.toReversed() : inside;
        const found = ordered.slice(span.skip, span.skip + span.limit);
        expect(span.fromEnd ? found.reverse() : found).toEqual(wanted);
      },
    ),
  );
});

test("what follows a cursor is looked for where it is, whatever its own stretch holds", () => {
  expect(behind(row([5, 5, 5, 5]), 45, 8)).toEqual({ from: 20, to: 50 });
  expect(behind(row([5, undefined, 5, 5]), 45, 8)).toEqual({ from: 10, to: 50 });
  expect(behind(row([5, 5, 5, 5]), 45, Infinity)).toEqual({ from: 10, to: 50 });
  expect(behind([], 45, 8)).toEqual({ from: 45, to: 45 });
});

/** A ride by its start and its last change, in hours. */
interface Ride {
  readonly started: number;
  readonly changed: number;
  readonly status: "started" | "completed" | "cancelled";
}
const anyRide = fc.record<Ride>({
  started: fc.integer({ min: 0, max: 71 }),
  changed: fc.integer({ min: 0, max: 90 }),
  status: fc.constantFrom("completed", "completed", "completed", "cancelled", "started"),
});

/** Returns the remembered days of rides: three days, of which the last is not over. */
function known(rides: readonly Ride[]) {
  const upto = 66 * HOUR_MS;
  const days = [2, 1, 0].map((day) => {
    const groups = rides.flatMap<RideGroup>(({ started, changed, status }) =>
      Math.floor(started / 24) === day && started < 66
        ? [{ hour: started % 24, status, first: changed * HOUR_MS, last: changed * HOUR_MS, n: 1 }]
        : [],
    );
    return rideDay(day * DAY_MS, Math.min((day + 1) * DAY_MS, upto), groups);
  });
  return { days, upto, knownFrom: -Infinity };
}

const anyFilters = fc.record({
  from: fc.oneof(fc.constant(-Infinity), fc.integer({ min: -5, max: 80 })),
  to: fc.oneof(fc.constant(Infinity), fc.integer({ min: -5, max: 80 })),
  since: fc.option(fc.integer({ min: 0, max: 95 }), { nil: undefined }),
  status: fc.option(fc.constantFrom("completed", "cancelled"), { nil: undefined }),
});

test("rides under way do not hide the other rides of their day from the estimate of a stretch", () => {
  const ofHour = (hour: number, status: RideGroup["status"], n: number) => ({ hour, status, first: 1, last: 1, n });
  const groups = Array.from({ length: 24 }, (_, hour) => ofHour(hour, "completed", 100));
  const day = rideDay(0, DAY_MS, [...groups, ofHour(7, "started", 1)]);
  const past = { days: [day], upto: DAY_MS, knownFrom: 0 };
  expect(ridesBetween(past, { from: 0, to: DAY_MS }, undefined)).toBe(2_401);
  expect(ridesBetween(past, { from: 0, to: DAY_MS }, "started")).toBe(1);
  expect(ridesBetween(past, { from: 5 * HOUR_MS, to: 6.5 * HOUR_MS }, undefined)).toBe(200);
});

test("the last hours of the known past stand in for those since, however early a stretch begins", () => {
  const groups = [22, 23].map((hour) => ({ hour, status: "completed" as const, first: 1, last: 1, n: 100 }));
  const past = { days: [rideDay(0, DAY_MS, groups)], upto: DAY_MS, knownFrom: 0 };
  expect(ridesBetween(past, { from: DAY_MS, to: Infinity }, undefined)).toBe(200);
  expect(ridesBetween(past, { from: DAY_MS - HOUR_MS, to: Infinity }, undefined)).toBe(300);
  expect(ridesBetween(past, { from: 0, to: Infinity }, undefined)).toBe(400);
  expect(ridesBetween(past, { from: -1, to: Infinity }, undefined)).toBe(Infinity);
});

test("a day of which no hour's number is known keeps the number that was counted", () => {
  const groups = Array.from({ length: 24 }, (_, hour) => ({
    hour,
    status: "completed" as const,
    first: 1,
    last: 9,
    n: 2,
  }));
  const past = { days: [rideDay(0, DAY_MS, groups)], upto: DAY_MS, knownFrom: -Infinity };
  const filters = { since: 5, status: undefined, from: -Infinity, to: Infinity };
  const [, day] = stretchesOf(partsOf(past, filters), 2 * DAY_MS, filters);
  expect(day).toEqual({ from: 0, to: DAY_MS, n: undefined });
  const counted = [{ from: 0, to: DAY_MS, n: 24 }];
  expect([...byHour(counted, past, filters, { skip: 10, limit: 5 })]).toEqual(counted);
});

test("what is known of hours is what counting rides one by one gives, by any filters and however many there are", () => {
  fc.assert(
    fc.property(
      fc.array(anyRide, { maxLength: 400 }),
      anyFilters,
      fc.nat(60),
      (rides, { from, to, since, status }, skip) => {
        const filters = {
          from: from * HOUR_MS,
          to: to * HOUR_MS,
          since: since === undefined ? undefined : since * HOUR_MS,
          status,
        };
        const passing = rides.filter(
          (ride) =>
            ride.started >= from &&
            ride.started < to &&
            (since === undefined || ride.changed >= since) &&
            (status === undefined || ride.status === status),
        );
        const within = (part: { readonly from: number; readonly to: number }) =>
          passing.filter(({ started }) => started * HOUR_MS >= part.from && started * HOUR_MS < part.to).length;
        const past = known(rides);
        const stretches = stretchesOf(partsOf(past, filters), past.upto, filters);
        for (const { n, ...part } of stretches) if (n !== undefined) expect(n).toBe(within(part));
        const counted = stretches.map((stretch) => ({ ...stretch, n: within(stretch) }));
        expect(counted.reduce((sum, { n }) => sum + n, 0)).toBe(passing.length);
        const refined = [...byHour(counted, past, filters, { skip, limit: 5 })];
        for (const { n, ...part } of refined) expect(n).toBe(within(part));
        expect(refined.reduce((sum, { n }) => sum + n, 0)).toBe(passing.length);
        const changed = changedIn({ from: 0, to: 2 * DAY_MS }, past, filters);
        const early = rides.filter(
          ({ started, ...ride }) => started < 48 && (status === undefined || ride.status === status),
        );
        if (changed !== "some" && since !== undefined)
          expect(new Set(early.map((ride) => (ride.changed >= since ? "all" : "none")))).toEqual(
            new Set(early.length === 0 ? [] : [changed]),
          );
      },
    ),
  );
});
