import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { addPartners } from "../../../test/partners.ts";
import {
  openReservationsHarness,
  outcomeOf,
  partner,
  type ReservationsHarness,
} from "../../../test/reservations/reservations.harness.ts";
import { statement } from "../../storage/db/statement.ts";
import { largestHolders, reservationUse } from "../reservations/service.ts";
import { createReservation } from "./create-reservation.ts";

let harness: ReservationsHarness;

beforeEach(async () => {
  harness = await openReservationsHarness();
});
afterEach(() => harness.close());

const minutes = (n: number) => n * 60_000;

describe("reserving a bike of a station", () => {
  test("holds the bike with the longest range, counts it, and tells of it, all at once", async () => {
    await harness.fill("s", [{ id: "a", current_range_meters: 5 }, { id: "b", current_range_meters: 8 }, { id: "c" }]);
    const made = await harness.create({ station_id: "s", rider_ref: "rider-1" });
    expect(made).toEqual({
      id: made.id,
      status: "active",
      station_id: "s",
      bike_id: "b",
      vehicle_type_id: "classic",
      rider_ref: "rider-1",
      created_at: "2026-06-01T12:00:00.000Z",
      expires_at: "2026-06-01T12:15:00.000Z",
      cancelled_at: null,
      cancel_reason: null,
      ride_id: null,
      ride_cancelled_at: null,
      updated_at: "2026-06-01T12:00:00.000Z",
    });
    expect(await harness.bike("b")).toEqual({ vehicle_state: "reserved", station_id: "s", reservation_id: made.id });
    expect(await harness.counters("s")).toEqual({
      num_bikes_available: 2,
      num_bikes_reserved: 1,
      vehicle_types_available: [{ vehicle_type_id: "classic", count: 2 }],
    });
    expect(await harness.events()).toEqual([
      { name: "reservation.created", occurred_at: new Date(harness.clock()), partner_id: partner, data: made },
    ]);
    expect(await harness.get(made.id)).toEqual(made);
  });

  test("takes a bike of the type that is asked for, and no other", async () => {
    await harness.fill("s", [
      { id: "a", current_range_meters: 9 },
      { id: "b", vehicle_type_id: "cargo" },
    ]);
    expect(await harness.create({ station_id: "s", vehicle_type_id: "cargo" })).toMatchObject({
      bike_id: "b",
      vehicle_type_id: "cargo",
    });
    await expect(harness.create({ station_id: "s", vehicle_type_id: "cargo" })).rejects.toMatchObject({
      code: "no_bike_available",
    });
    await expect(harness.create({ station_id: "s", vehicle_type_id: "balloon" })).rejects.toMatchObject({
      code: "no_bike_available",
    });
  });

  test("at a station that mirrors a feed moves one bike from available to reserved", async () => {
    await harness.fill("s", [{ id: "a" }], { counters: "mirrored", num_bikes_available: 7, num_bikes_reserved: 2 });
    const { id } = await harness.create({ station_id: "s" });
    expect(await harness.counters("s")).toMatchObject({ num_bikes_available: 6, num_bikes_reserved: 3 });
    await harness.cancel(id);
    expect(await harness.counters("s")).toMatchObject({ num_bikes_available: 7, num_bikes_reserved: 2 });
  });

  test("is refused where there is no such station, it is not online, or it does not rent", async () => {
    await harness.fill("offline", [{ id: "a" }], { status: "offline", offline_reason: "operator" });
    await harness.fill("planned", [{ id: "b" }], { status: "planned" });
    await harness.fill("removed", [{ id: "c" }], { status: "removed" });
    await harness.fill("returns only", [{ id: "d" }], { is_renting: false });
    await harness.fill("empty", []);
    const codes: Record<string, string> = {};
    for (const station_id of ["unknown", "offline", "planned", "removed", "returns only", "empty"]) {
      codes[station_id] = await outcomeOf(harness.create({ station_id }));
    }
    expect(codes).toEqual({
      unknown: "not_found",
      offline: "station_offline",
      planned: "station_offline",
      removed: "station_offline",
      "returns only": "station_offline",
      empty: "no_bike_available",
    });
    expect(await harness.events()).toEqual([]);
  });

  test("passes over bikes that are held, on a ride, out of order, or held by someone whom only the feed knows", async () => {
    await harness.fill("s", [
      { id: "broken", vehicle_state: "non_operational" },
      { id: "held elsewhere", vehicle_state: "reserved" },
      { id: "lost", vehicle_state: "missing" },
    ]);
    await expect(harness.create({ station_id: "s" })).rejects.toMatchObject({ code: "no_bike_available" });
  });

  test("takes a bike whose reservation is overdue, before any sweep", async () => {
    await harness.fill("s", [{ id: "a" }]);
    const first = await harness.create({ station_id: "s" }, "partner-2");
    harness.clock.advance(minutes(15) - 1);
    await expect(harness.create({ station_id: "s" })).rejects.toMatchObject({ code: "no_bike_available" });
    harness.clock.advance(1);
    const second = await harness.create({ station_id: "s" });
    expect(await harness.bike("a")).toMatchObject({ vehicle_state: "reserved", reservation_id: second.id });
    expect(await harness.counters("s")).toMatchObject({ num_bikes_available: 0, num_bikes_reserved: 1 });
    expect(
      (await harness.events()).map(({ name, occurred_at: at, partner_id: of, data }) => [
        name,
        at.toISOString(),
        of,
        data.id,
      ]),
    ).toEqual([
      ["reservation.created", first.created_at, "partner-2", first.id],
      ["reservation.expired", first.expires_at, "partner-2", first.id],
      ["reservation.created", second.created_at, partner, second.id],
    ]);
  });
});

describe("reserving one bike", () => {
  test("holds it, at a station or anywhere", async () => {
    await harness.fill("s", [{ id: "a" }, { id: "b", station_id: null }]);
    expect(await harness.create({ bike_id: "a" })).toMatchObject({ bike_id: "a", station_id: "s" });
    expect(await harness.create({ bike_id: "b" })).toMatchObject({ bike_id: "b", station_id: null });
    expect(await harness.bike("b")).toMatchObject({ vehicle_state: "reserved" });
  });

  test("is refused where there is no such bike, it is not available, not of the type, or its station does not rent", async () => {
    await harness.fill("s", [{ id: "held" }, { id: "broken", vehicle_state: "non_operational" }, { id: "free" }]);
    await harness.fill("closed", [{ id: "locked in" }], { is_renting: false });
    await harness.create({ bike_id: "held" });
    const codes: string[] = [];
    for (const request of [
      { bike_id: "unknown" },
      { bike_id: "held" },
      { bike_id: "broken" },
      { bike_id: "free", vehicle_type_id: "cargo" },
      { bike_id: "locked in" },
    ]) {
      codes.push(await outcomeOf(harness.create(request)));
    }
    expect(codes).toEqual([
      "not_found",
      "bike_not_available",
      "bike_not_available",
      "bike_not_available",
      "station_offline",
    ]);
  });

  test("takes it when its reservation is overdue, which expires on the way with its own event", async () => {
    await harness.fill("s", [{ id: "a" }]);
    const first = await harness.create({ bike_id: "a", hold_minutes: 1 });
    harness.clock.advance(minutes(1));
    const second = await harness.create({ bike_id: "a" });
    expect(await harness.bike("a")).toMatchObject({ reservation_id: second.id });
    expect(await harness.get(first.id)).toMatchObject({ status: "expired", updated_at: first.expires_at });
    expect((await harness.events()).map(({ name }) => name)).toEqual([
      "reservation.created",
      "reservation.expired",
      "reservation.created",
    ]);
  });
});

describe("a rider", () => {
  beforeEach(() => harness.fill("s", [{ id: "a" }, { id: "b" }, { id: "c" }]));

  test("holds one bike at a time, among the partner's own riders", async () => {
    const { id } = await harness.create({ station_id: "s", rider_ref: "rider" });
    await expect(harness.create({ station_id: "s", rider_ref: "rider" })).rejects.toMatchObject({
      code: "rider_has_active_reservation",
    });
    await harness.create({ station_id: "s", rider_ref: "rider" }, "partner-2");
    await harness.cancel(id);
    await harness.create({ station_id: "s", rider_ref: "rider" });
  });

  test.each([{ station_id: "s" }, { bike_id: "c" }, { bike_id: "a" }])(
    "whose hold is overdue may hold again (%o), and the bike held before is free",
    async (request) => {
      const first = await harness.create({ bike_id: "a", rider_ref: "rider" });
      harness.clock.advance(minutes(15));
      const second = await harness.create({ ...request, rider_ref: "rider" });
      expect(await harness.get(first.id)).toMatchObject({ status: "expired" });
      expect(await harness.bike(second.bike_id)).toMatchObject({
        vehicle_state: "reserved",
        reservation_id: second.id,
      });
      if (second.bike_id !== "a")
        expect(await harness.bike("a")).toMatchObject({ vehicle_state: "available", reservation_id: null });
      expect(await harness.counters("s")).toMatchObject({ num_bikes_available: 2, num_bikes_reserved: 1 });
    },
  );

  test("whose hold is overdue may hold again though a feed has deleted the bike", async () => {
    const first = await harness.create({ bike_id: "a", rider_ref: "rider" });
    await harness.db.query(statement("", "delete from bikes where system_id = $1 and id = 'a'"), [harness.systemId]);
    harness.clock.advance(minutes(15));
    await harness.create({ bike_id: "b", rider_ref: "rider" });
    expect(await harness.get(first.id)).toMatchObject({ status: "expired" });
  });
});

describe("a partner", () => {
  test("has at most as many active reservations as it may have; what is overdue or was given back does not count", async () => {
    await harness.fill("s", [{ id: "a" }, { id: "b" }, { id: "c" }]);
    await addPartners(harness.db, harness.systemId, ["bounded"], 2);
    const use = () => reservationUse(harness.live, { systemId: harness.systemId, partnerId: "bounded" });
    const refused = () =>
      expect(harness.create({ station_id: "s" }, "bounded")).rejects.toMatchObject({
        code: "too_many_reservations",
        message: "You have as many active reservations as your limit of 2 allows. Cancel one, or wait until one ends.",
      });
    const first = await harness.create({ station_id: "s", hold_minutes: 5 }, "bounded");
    expect(await use()).toEqual({ limit: 2, active: 1 });
    await harness.create({ station_id: "s", hold_minutes: 10 }, "bounded");
    await refused();
    expect(await use()).toEqual({ limit: 2, active: 2 });
    await harness.cancel(first.id, "bounded");
    await harness.create({ station_id: "s", hold_minutes: 5 }, "bounded");
    await refused();
    harness.clock.advance(minutes(5));
    expect(await use()).toEqual({ limit: 2, active: 1 });
    await harness.create({ station_id: "s" }, "bounded");
    await refused();
    // The limit counts only the partner's own reservations.
    harness.clock.advance(minutes(5));
    await harness.create({ station_id: "s" });
  });

  test("whose number is not said has 50", async () => {
    await harness.fill(
      "s",
      Array.from({ length: 51 }, (_, n) => ({ id: `bike-${n}` })),
    );
    for (let n = 0; n < 50; n++) await harness.create({ station_id: "s" });
    expect(await outcomeOf(harness.create({ station_id: "s" }))).toBe("too_many_reservations");
    expect(await reservationUse(harness.live, { systemId: harness.systemId, partnerId: partner })).toEqual({
      limit: 50,
      active: 50,
    });
  });

  test("is among those that hold most as long as it holds anything, with its limit", async () => {
    await harness.fill("s", [{ id: "a" }, { id: "b" }, { id: "c" }, { id: "d" }]);
    await addPartners(harness.db, harness.systemId, ["bounded"], 2);
    await harness.create({ station_id: "s", hold_minutes: 5 }, "bounded");
    const { id } = await harness.create({ station_id: "s", hold_minutes: 10 }, "bounded");
    await harness.create({ station_id: "s", hold_minutes: 20 });
    const holders = () => largestHolders(harness.db, harness.clock());
    const { systemId } = harness;
    const usual = { systemId, partnerId: partner, active: 1, limit: 50 };
    expect(await holders()).toEqual([{ systemId, partnerId: "bounded", active: 2, limit: 2 }, usual]);
    harness.clock.advance(minutes(5));
    expect(await holders()).toEqual([{ systemId, partnerId: "bounded", active: 1, limit: 2 }, usual]);
    await harness.cancel(id, "bounded");
    expect(await holders()).toEqual([usual]);
  });

  test("that was removed holds nothing more", async () => {
    await harness.fill("s", [{ id: "a" }]);
    expect(await outcomeOf(harness.create({ station_id: "s" }, "gone"))).toBe("unauthorized");
  });
});

test("a request that names both a station and a bike, or neither, is refused", async () => {
  await expect(harness.create({ station_id: "s", bike_id: "a" })).rejects.toMatchObject({ code: "invalid_parameter" });
  await expect(harness.create({})).rejects.toMatchObject({ code: "invalid_parameter" });
});

test("a reservation made in an open transaction comes into being with it, or not at all", async () => {
  await harness.fill("s", [{ id: "a" }]);
  const undo = new Error("undone");
  const input = { systemId: harness.systemId, partnerId: partner, request: { station_id: "s" } };
  const undone = harness.db.transaction(async (tx) => {
    await createReservation({ ...harness.live, db: tx }, input);
    throw undo;
  });
  await expect(undone).rejects.toBe(undo);
  expect(await harness.bike("a")).toMatchObject({ vehicle_state: "available", reservation_id: null });
  expect(await harness.counters("s")).toMatchObject({ num_bikes_available: 1, num_bikes_reserved: 0 });
  expect([await harness.events(), (await harness.list()).total]).toEqual([[], 0]);
});
