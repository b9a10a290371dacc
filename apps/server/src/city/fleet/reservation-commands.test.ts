import { statusAt } from "@bikeshare/rules";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { expireOverdueReservations } from "../../../test/reservations/expire-overdue.ts";
import {
  openReservationsHarness,
  partner,
  type ReservationsHarness,
} from "../../../test/reservations/reservations.harness.ts";
import { statement } from "../../storage/db/statement.ts";
import { timePosition } from "../../storage/lists/page.ts";
import { type FleetCommand, runCommand } from "./command.ts";
import type { ReservationOutcome } from "./reservation-queries.ts";

let harness: ReservationsHarness;

beforeEach(async () => {
  harness = await openReservationsHarness();
  await harness.fill("s", [{ id: "a" }, { id: "b" }, { id: "c" }]);
});
afterEach(() => harness.close());

const minutes = (n: number) => n * 60_000;
const namesOf = async () => (await harness.events()).map(({ name }) => name);

describe("cancelling", () => {
  test("ends the reservation, gives the bike back, counts it, and tells of it", async () => {
    const { id } = await harness.create({ bike_id: "a" });
    harness.clock.advance(1_000);
    const cancelled = await harness.cancel(id);
    const at = new Date(harness.clock()).toISOString();
    expect(cancelled).toMatchObject({
      id,
      status: "cancelled",
      cancel_reason: "partner",
      cancelled_at: at,
      updated_at: at,
    });
    expect(await harness.get(id)).toEqual(cancelled);
    expect(await harness.bike("a")).toEqual({ vehicle_state: "available", station_id: "s", reservation_id: null });
    expect(await harness.counters("s")).toMatchObject({ num_bikes_available: 3, num_bikes_reserved: 0 });
    expect((await harness.events()).at(-1)).toEqual({
      name: "reservation.cancelled",
      occurred_at: new Date(at),
      partner_id: partner,
      data: cancelled,
    });
  });

  test("again answers the same and changes nothing, whoever holds the bike by then", async () => {
    const { id } = await harness.create({ bike_id: "a" });
    const cancelled = await harness.cancel(id);
    harness.clock.advance(minutes(20));
    const next = await harness.create({ bike_id: "a" });
    expect(await harness.cancel(id)).toEqual(cancelled);
    expect(await harness.bike("a")).toMatchObject({ vehicle_state: "reserved", reservation_id: next.id });
    expect(await namesOf()).toEqual(["reservation.created", "reservation.cancelled", "reservation.created"]);
  });

  test("eight times at once cancels once", async () => {
    const { id } = await harness.create({ bike_id: "a" });
    const answers = await Promise.all(Array.from({ length: 8 }, () => harness.cancel(id)));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(await namesOf()).toEqual(["reservation.created", "reservation.cancelled"]);
  });

  test("is refused from the instant of expiry on, swept or not", async () => {
    const { id } = await harness.create({ bike_id: "a" });
    harness.clock.advance(minutes(15));
    await expect(harness.cancel(id)).rejects.toMatchObject({ code: "reservation_not_active" });
    await expireOverdueReservations(harness.live, harness.systemId, 10);
    await expect(harness.cancel(id)).rejects.toMatchObject({ code: "reservation_not_active" });
  });

  test("works though a feed has deleted the bike", async () => {
    const { id } = await harness.create({ bike_id: "a" });
    await harness.db.query(statement("", "delete from bikes where system_id = $1 and id = 'a'"), [harness.systemId]);
    expect(await harness.cancel(id)).toMatchObject({ status: "cancelled" });
  });
});

describe("another partner's reservation", () => {
  test("is not there: not to read, not to list, not to cancel", async () => {
    const { id } = await harness.create({ bike_id: "a", rider_ref: "rider" });
    expect(await harness.get(id, "partner-2")).toBeUndefined();
    expect(await harness.list({}, { kind: "first", limit: 10 }, "partner-2")).toEqual({
      data: [],
      next: undefined,
      total: 0,
    });
    await expect(harness.cancel(id, "partner-2")).rejects.toMatchObject({ code: "not_found" });
    expect(await harness.get(id)).toMatchObject({ status: "active" });
  });
});

describe("to readers", () => {
  test("a reservation expires at expires_at to the millisecond, and looks the same before and after the sweep", async () => {
    const made = await harness.create({ bike_id: "a", hold_minutes: 1 });
    harness.clock.advance(minutes(1) - 1);
    expect(await harness.get(made.id)).toEqual(made);
    expect((await harness.list()).data).toEqual([made]);
    harness.clock.advance(1);
    const expired = { ...made, status: "expired", updated_at: made.expires_at };
    expect(await harness.get(made.id)).toEqual(expired);
    expect((await harness.list()).data).toEqual([expired]);
    harness.clock.advance(minutes(3));
    expect(await expireOverdueReservations(harness.live, harness.systemId, 10)).toBe(1);
    expect(await harness.get(made.id)).toEqual(expired);
    expect((await harness.events()).at(-1)).toMatchObject({
      name: "reservation.expired",
      occurred_at: new Date(made.expires_at),
      data: expired,
    });
  });

  test("the filters see the status as of now, the rider and the bike", async () => {
    const overdue = await harness.create({ bike_id: "a", hold_minutes: 1, rider_ref: "r1" });
    harness.clock.advance(minutes(1));
    const active = await harness.create({ bike_id: "b", rider_ref: "r1" });
    const cancelled = await harness.create({ bike_id: "c", rider_ref: "r2" });
    await harness.cancel(cancelled.id);
    const again = await harness.create({ bike_id: "c", hold_minutes: 1, rider_ref: "r3" });
    harness.clock.advance(minutes(1));
    const found = async (filters: Parameters<ReservationsHarness["list"]>[0]) => {
      const { data, total } = await harness.list(filters);
      expect(total).toBe(data.length);
      return data.map(({ id }) => id);
    };
    expect(await found({ status: "active" })).toEqual([active.id]);
    expect(await found({ status: "expired" })).toEqual([again.id, overdue.id]);
    expect(await found({ status: "cancelled" })).toEqual([cancelled.id]);
    expect(await found({ status: "fulfilled" })).toEqual([]);
    expect(await found({ rider_ref: "r1" })).toEqual([active.id, overdue.id]);
    expect(await found({ bike_id: "c" })).toEqual([again.id, cancelled.id]);
    expect(await found({ bike_id: "c", status: "expired" })).toEqual([again.id]);
  });

  test("the list goes from the newest to the oldest, by page and by cursor alike", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 7; n++) {
      const { id } = await harness.create({ bike_id: "a" });
      await harness.cancel(id);
      ids.unshift(id);
      // Some reservations are made in the same millisecond.
      if (n % 3 === 0) harness.clock.advance(1);
    }
    const byPage: string[] = [];
    for (const page of [1, 2, 3, 4])
      byPage.push(...(await harness.list({}, { kind: "page", page, limit: 2 })).data.map(({ id }) => id));
    expect(byPage).toEqual(ids);
    let slice = await harness.list({}, { kind: "first", limit: 3 });
    expect(slice.total).toBe(7);
    const byCursor = slice.data.map(({ id }) => id);
    while (slice.next !== undefined) {
      const after = timePosition.decode(timePosition.encode(slice.next))!;
      slice = await harness.list({}, { kind: "cursor", after, limit: 3 });
      byCursor.push(...slice.data.map(({ id }) => id));
    }
    expect(byCursor).toEqual(ids);
  });
});

describe("for the verbs of rides and bikes", () => {
  const inLock = <Result>(bikes: readonly string[], work: (command: FleetCommand) => Promise<Result>) =>
    runCommand(harness.live, harness.systemId, async (command) => {
      await command.lockBikes(bikes);
      return work(command);
    });
  const end = (outcomes: readonly ReservationOutcome[]) =>
    inLock(["a", "b", "c"], (command) => command.endReservations(outcomes));

  test("rides fulfil the active ones of many reservations; overdue ones expire, ended ones stay", async () => {
    const overdue = await harness.create({ bike_id: "a", hold_minutes: 1 });
    harness.clock.advance(minutes(1));
    const active = await harness.create({ bike_id: "b" });
    const cancelled = await harness.create({ bike_id: "c" });
    await harness.cancel(cancelled.id);
    harness.clock.advance(10_000);
    const at = new Date(harness.clock() - 5_000);
    const given = [overdue, active, cancelled].map(({ id }) => ({
      id,
      status: "fulfilled" as const,
      rideId: `ride of ${id}`,
      at,
    }));
    const ended = await end([...given, { id: "unknown", status: "fulfilled", rideId: "ride", at }]);
    const fulfilled = ended.filter(({ status }) => status === "fulfilled");
    expect(fulfilled).toMatchObject([{ id: active.id, partner_id: partner, bike_id: "b", status: "fulfilled" }]);
    expect(await harness.get(active.id)).toEqual(JSON.parse(fulfilled[0]!.json));
    expect(await harness.get(active.id)).toMatchObject({
      status: "fulfilled",
      ride_id: `ride of ${active.id}`,
      cancelled_at: null,
    });
    expect(await harness.get(overdue.id)).toMatchObject({
      status: "expired",
      ride_id: null,
      updated_at: overdue.expires_at,
    });
    expect(await harness.get(cancelled.id)).toMatchObject({ status: "cancelled", ride_id: null });
    const recorded = (await harness.events())
      .slice(4)
      .map(({ name, occurred_at: when, data }) => [name, when.toISOString(), data.id]);
    expect(new Set(recorded)).toEqual(
      new Set([
        ["reservation.expired", overdue.expires_at, overdue.id],
        ["reservation.fulfilled", at.toISOString(), active.id],
      ]),
    );
    expect(await end(given)).toEqual([]);
    await expect(harness.cancel(active.id)).rejects.toMatchObject({ code: "reservation_not_active" });
  });

  test("bikes that cannot be had cancel the active ones of many reservations, each for its reason", async () => {
    const overdue = await harness.create({ bike_id: "a", hold_minutes: 1 });
    harness.clock.advance(minutes(1));
    const broken = await harness.create({ bike_id: "b" });
    const taken = await harness.create({ bike_id: "c" });
    const given: ReservationOutcome[] = [
      { id: overdue.id, status: "cancelled", reason: "bike_unavailable" },
      { id: broken.id, status: "cancelled", reason: "bike_unavailable" },
      { id: taken.id, status: "cancelled", reason: "operator" },
    ];
    const ended = (await end(given)).filter(({ status }) => status === "cancelled");
    expect(ended.map(({ id }) => id).sort()).toEqual([broken.id, taken.id].sort());
    expect(await harness.get(overdue.id)).toMatchObject({ status: "expired", cancel_reason: null });
    expect(await harness.get(broken.id)).toMatchObject({ status: "cancelled", cancel_reason: "bike_unavailable" });
    expect(await harness.get(taken.id)).toMatchObject({ status: "cancelled", cancel_reason: "operator" });
    expect(await end(given)).toEqual([]);
    expect((await namesOf()).slice(3).sort()).toEqual([
      "reservation.cancelled",
      "reservation.cancelled",
      "reservation.expired",
    ]);
    // When the partner cancels, the reservation is already cancelled.
    expect(await harness.cancel(broken.id)).toMatchObject({ cancel_reason: "bike_unavailable" });
  });

  test("locked reservations are given as they are kept, for statusAt to judge", async () => {
    const { id, expires_at } = await harness.create({ bike_id: "a" });
    harness.clock.advance(minutes(15));
    const locked = (await inLock(["a"], (command) => command.lockReservations([id, "unknown"]))).get(id)!;
    expect(locked).toMatchObject({
      status: "active",
      expires_at: new Date(expires_at),
      bike_id: "a",
      partner_id: partner,
    });
    expect(statusAt(locked, new Date(harness.clock()))).toBe("expired");
  });
});
