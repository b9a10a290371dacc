import { type RideCommand, rideTransitions } from "@bikeshare/rules";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type FleetHarness, openFleetHarness, outcomes, stationItem } from "../../../test/fleet/fleet.harness.ts";
import { until } from "../../../test/until.ts";
import { statement } from "../../storage/db/statement.ts";
import { runCommand } from "./command.ts";

const lockBike = statement("test.lockBike", "select id from bikes where system_id = $1 and id = $2 for update");
const waiting = statement(
  "test.waiting",
  "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
);

let harness: FleetHarness;
/** A new bike at station A, and the id of a ride for it, for each test. */
let bike: string;
let ride: string;
let made = 0;

beforeAll(async () => {
  harness = await openFleetHarness();
  await harness.stations(stationItem("A"), stationItem("B", { lat: 47.5, lon: 8.6 }));
});
afterAll(() => harness.close());

beforeEach(async () => {
  made++;
  bike = `bike-${made}`;
  ride = `ride-${made}`;
  await harness.bikes({ id: bike, station_id: "A", vehicle_type_id: "classic", current_range_meters: 9000 });
  harness.clock.advance(60_000);
});

const inMinutes = (minutes: number) => new Date(harness.clock() + minutes * 60_000).toISOString();

/** Runs commands that must be refused, and checks that they changed nothing. */
async function refused(
  work: () => Promise<Awaited<ReturnType<FleetHarness["start"]>>>,
  ...codes: string[]
): Promise<string> {
  const before = await harness.picture();
  const results = await work();
  expect(outcomes(results)).toEqual(codes);
  expect(results.failed).toBe(codes.filter((code) => !["created", "updated", "unchanged"].includes(code)).length);
  expect(await harness.picture()).toEqual(before);
  return results.results.map(({ error }) => error?.message).join("\n");
}

describe("every step of a ride's life", () => {
  const into = {
    none: () => Promise.resolve(),
    started: () => harness.start({ id: ride, bike_id: bike }),
    completed: async () => {
      await harness.start({ id: ride, bike_id: bike });
      await harness.end({ id: ride, end_station_id: "B" });
    },
    cancelled: async () => {
      await harness.start({ id: ride, bike_id: bike });
      await harness.cancel({ id: ride });
    },
  };
  const run: Record<RideCommand, () => ReturnType<FleetHarness["start"]>> = {
    start: () => harness.start({ id: ride, bike_id: bike }),
    end: () => harness.end({ id: ride, end_station_id: "B" }),
    cancel: () => harness.cancel({ id: ride }),
    correct: () => harness.correct({ id: ride, end_station_id: "A" }),
  };
  const words: Record<string, string> = { same: "unchanged", conflict: "ride_conflict", missing: "not_found" };
  const steps = Object.entries(rideTransitions).flatMap(([from, row]) =>
    Object.entries(row).map(([command, next]) => ({ from, command, next })),
  ) as { from: keyof typeof into; command: RideCommand; next: string }[];

  test.each(steps)("$command when $from: $next", async ({ from, command, next }) => {
    await into[from]();
    if (next in words) await refused(run[command], words[next] ?? "");
    else {
      expect(outcomes(await run[command]())).toEqual([next === "started" ? "created" : "updated"]);
      expect((await harness.ride(ride))["status"]).toBe(next);
    }
    const ends = (await harness.events()).filter((event) => event.endsWith(` ${ride}`));
    const status = next in words ? from : next;
    const lives: Record<string, string[]> = {
      none: [],
      started: ["started"],
      completed: ["started", "completed"],
      cancelled: ["started", "cancelled"],
    };
    expect(ends).toEqual(
      lives[status]
        ?.concat(command === "correct" && next === "completed" ? ["corrected"] : [])
        .map((name) => `ride.${name} ${ride}`),
    );
    await harness.expectSound();
  });
});

describe("a ride that starts", () => {
  test("takes its bike off the map and out of its station's counters, and says where it began", async () => {
    const before = Number((await harness.station("A"))["num_bikes_available"]);
    await harness.start({ id: ride, bike_id: bike, rider_category: "member" });
    expect(await harness.bike(bike)).toMatchObject({
      vehicle_state: "on_trip",
      station_id: null,
      lat: null,
      lon: null,
      ride_id: ride,
    });
    expect((await harness.station("A"))["num_bikes_available"]).toBe(before - 1);
    expect(await harness.ride(ride)).toMatchObject({
      status: "started",
      start_station_id: "A",
      vehicle_type_id: "classic",
      rider_category: "member",
      started_at: new Date(harness.clock()),
      ended_at: null,
    });
  });

  test("begins outside a station where null says so", async () => {
    await harness.start({ id: ride, bike_id: bike, start_station_id: null });
    expect((await harness.ride(ride))["start_station_id"]).toBeNull();
  });

  test("fulfils the reservation that holds its bike, named or not", async () => {
    for (const named of [true, false]) {
      const id = `${ride}-${named}`;
      const reservation = await harness.reserve({ bike_id: bike });
      await harness.start({ id, bike_id: bike, ...(named ? { reservation_id: reservation.id } : {}) });
      expect((await harness.ride(id))["reservation_id"]).toBe(reservation.id);
      expect(await harness.events()).toContain(`reservation.fulfilled ${reservation.id}`);
      // Every partner reads rides, so a ride must not name its reservation. Only the reservation's owner reads the
      // reservation, so it may name the ride.
      expect(String((await harness.ride(id))["json"])).not.toContain(reservation.id);
      expect(await harness.reservation(reservation.id)).toMatchObject({ ride_id: id });
      await harness.expectSound();
      await harness.end({ id, end_station_id: "A" });
    }
  });

  test("that began before its reservation by the operator's clock fulfils it after it was created", async () => {
    const { id } = await harness.reserve({ bike_id: bike });
    await harness.start({ id: ride, bike_id: bike, started_at: inMinutes(-1) });
    const events = await harness.events();
    expect(events.indexOf(`reservation.created ${id}`)).toBeGreaterThanOrEqual(0);
    expect(events.indexOf(`reservation.fulfilled ${id}`)).toBeGreaterThan(events.indexOf(`reservation.created ${id}`));
  });

  test("does not fulfil a reservation that is overdue, swept or not: it expires", async () => {
    const overdue = await harness.reserve({ bike_id: bike, hold_minutes: 1 });
    harness.clock.advance(60_000);
    await refused(
      () => harness.start({ id: ride, bike_id: bike, reservation_id: overdue.id }),
      "reservation_not_active",
    );
    expect(outcomes(await harness.start({ id: ride, bike_id: bike, started_at: inMinutes(-0.5) }))).toEqual([
      "created",
    ]);
    expect((await harness.ride(ride))["reservation_id"]).toBeNull();
    expect(await harness.events()).toContain(`reservation.expired ${overdue.id}`);
    await harness.expectSound();
  });

  test("is refused for a reservation that does not hold its bike", async () => {
    await refused(() => harness.start({ id: ride, bike_id: bike, reservation_id: "other" }), "reservation_not_active");
    await harness.reserve({ bike_id: bike });
    await refused(() => harness.start({ id: ride, bike_id: bike, reservation_id: "other" }), "reservation_not_active");
  });
});

describe("a ride that ends", () => {
  test("retires its bike's public id, also when the same command writes the bike again", async () => {
    const publicId = (await harness.bike(bike))["public_id"];
    await harness.start({ id: ride, bike_id: bike });
    const rideId = (await harness.bike(bike))["ride_id"];
    await runCommand(harness.live, harness.systemId, async (command) => {
      await command.lockBikes([bike]);
      // The ride takes the bike back at last, so that the rows agree.
      for (const facts of [{ ride_id: null }, { number: "7" }, { ride_id: String(rideId) }]) {
        const locked = command.bikes.get(bike);
        if (locked !== undefined) command.changeBike(locked, facts);
        await command.writeBikes();
      }
    });
    const after = await harness.bike(bike);
    expect(after).toMatchObject({ ride_id: rideId, number: "7" });
    expect(after["public_id"]).not.toBe(publicId);
    await harness.expectSound();
  });

  test("puts its bike where it ended, and counts it there, under a new public id", async () => {
    const publicId = (await harness.bike(bike))["public_id"];
    await harness.start({ id: ride, bike_id: bike });
    harness.clock.advance(59_000);
    const before = Number((await harness.station("B"))["num_bikes_available"]);
    await harness.end({ id: ride, end_station_id: "B", distance_meters: 1200 });
    expect(await harness.bike(bike)).toMatchObject({
      vehicle_state: "available",
      station_id: "B",
      lat: 47.5,
      lon: 8.6,
      ride_id: null,
    });
    expect((await harness.bike(bike))["public_id"]).not.toBe(publicId);
    expect((await harness.station("B"))["num_bikes_available"]).toBe(before + 1);
    expect(await harness.ride(ride)).toMatchObject({
      status: "completed",
      end_station_id: "B",
      duration_seconds: 59,
      is_countable: false,
      distance_meters: 1200,
      end_reason: "returned",
    });
  });

  test("outside a station is where its position says", async () => {
    await harness.start({ id: ride, bike_id: bike });
    await harness.end({ id: ride, lat: 47.1, lon: 8.1 });
    expect(await harness.bike(bike)).toMatchObject({ station_id: null, lat: 47.1, lon: 8.1 });
    expect((await harness.ride(ride))["end_reason"]).toBe("free_floating");
  });

  test("when it is cancelled leaves its bike where it stood", async () => {
    await harness.start({ id: ride, bike_id: bike });
    await harness.cancel({ id: ride });
    expect(await harness.bike(bike)).toMatchObject({
      vehicle_state: "available",
      station_id: "A",
      lat: 47.37,
      lon: 8.54,
    });
    expect(await harness.ride(ride)).toMatchObject({
      status: "cancelled",
      end_station_id: null,
      end_reason: "cancelled",
    });
    await harness.expectSound();
  });

  test("warns where its bike was reported broken before its end, and is available after it", async () => {
    await harness.start({ id: ride, bike_id: bike });
    harness.clock.advance(60_000);
    const at = inMinutes(0);
    await harness.report({ id: bike, at, vehicle_state: "non_operational" });
    harness.clock.advance(60_000);
    const { results } = await harness.end({ id: ride, end_station_id: "B" });
    expect(results[0]?.warning).toBe(
      `Bike ${bike} was reported non_operational as of ${at}, before the ride's end, and is available now. If it still is non_operational, report that again.`,
    );
    expect(await harness.bike(bike)).toMatchObject({ vehicle_state: "available" });
    await harness.expectSound();
  });

  test("leaves its bike out of order where that was reported of it later", async () => {
    await harness.start({ id: ride, bike_id: bike, started_at: inMinutes(-1) });
    await harness.report({ id: bike, at: inMinutes(0), vehicle_state: "non_operational" });
    await harness.end({ id: ride, end_station_id: "B", ended_at: inMinutes(-0.5) });
    expect(await harness.bike(bike)).toMatchObject({ vehicle_state: "non_operational", station_id: "B" });
    await harness.expectSound();
  });
});

describe("bad input changes nothing and says what is wrong", () => {
  test("a ride that never started cannot end or be cancelled", async () => {
    await refused(() => harness.end({ id: ride }), "not_found");
    await refused(() => harness.cancel({ id: ride }), "not_found");
  });

  test("a bike that is on a trip starts no other", async () => {
    await harness.start({ id: ride, bike_id: bike });
    expect(await refused(() => harness.start({ id: `${ride}-2`, bike_id: bike }), "ride_conflict")).toContain(ride);
  });

  test("a bike that is out of order starts none", async () => {
    for (const state of ["non_operational", "missing", "non_contactable", "removed"]) {
      await harness.bikes({ id: bike, vehicle_state: state });
      await refused(() => harness.start({ id: ride, bike_id: bike }), "bike_not_available");
    }
  });

  test("an unknown station, and one that was removed, is neither a start nor an end", async () => {
    await harness.stations(stationItem(`gone-${made}`));
    await harness.remove({ id: `gone-${made}` });
    for (const station of ["nowhere", `gone-${made}`]) {
      expect(
        await refused(() => harness.start({ id: ride, bike_id: bike, start_station_id: station }), "not_found"),
      ).toContain(station);
    }
    await harness.start({ id: ride, bike_id: bike });
    for (const station of ["nowhere", `gone-${made}`]) {
      expect(await refused(() => harness.end({ id: ride, end_station_id: station }), "not_found")).toContain(station);
    }
  });

  test("an unknown bike starts no ride", async () => {
    expect(await refused(() => harness.start({ id: ride, bike_id: "nobody's" }), "not_found")).toContain("nobody's");
  });

  test("an instant in the future, beyond what clocks differ by", async () => {
    await refused(() => harness.start({ id: ride, bike_id: bike, started_at: inMinutes(5.1) }), "invalid_parameter");
    await refused(
      () => harness.past({ id: ride, bike_id: bike, started_at: inMinutes(0), ended_at: inMinutes(5.1) }),
      "invalid_parameter",
    );
    expect(await refused(() => harness.report({ id: bike, at: inMinutes(5.1) }), "invalid_parameter")).toBe(
      "at lies in the future, more than 300 s ahead of the service's clock.",
    );
    await harness.start({ id: ride, bike_id: bike });
    await refused(() => harness.end({ id: ride, ended_at: inMinutes(5.1) }), "invalid_parameter");
    await refused(() => harness.cancel({ id: ride, cancelled_at: inMinutes(5.1) }), "invalid_parameter");
  });

  test("an end before the start", async () => {
    await harness.start({ id: ride, bike_id: bike });
    expect(await refused(() => harness.end({ id: ride, ended_at: inMinutes(-1) }), "invalid_parameter")).toContain(
      "ended_at",
    );
    expect(
      await refused(() => harness.cancel({ id: ride, cancelled_at: inMinutes(-1) }), "invalid_parameter"),
    ).toContain("cancelled_at");
    await refused(
      () => harness.past({ id: "x", bike_id: bike, started_at: inMinutes(0), ended_at: inMinutes(-1) }),
      "invalid_parameter",
    );
  });

  test("an instant that no ride can have: before 1970, or a ride longer than the database can count", async () => {
    for (const instant of ["1969-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00"]) {
      await refused(() => harness.start({ id: ride, bike_id: bike, started_at: instant }), "invalid_parameter");
      await refused(
        () => harness.past({ id: ride, bike_id: bike, started_at: instant, ended_at: instant }),
        "invalid_parameter",
      );
    }
  });

  test("another ride with an id that is taken", async () => {
    await harness.bikes({ id: `${bike}-2`, station_id: "A" });
    await harness.start({ id: ride, bike_id: bike });
    await refused(() => harness.start({ id: ride, bike_id: `${bike}-2` }), "ride_conflict");
    await refused(() => harness.start({ id: ride, bike_id: bike, started_at: inMinutes(-5) }), "ride_conflict");
    await refused(
      () => harness.past({ id: ride, bike_id: bike, started_at: inMinutes(-5), ended_at: inMinutes(-1) }),
      "ride_conflict",
    );
  });
});

describe("batches", () => {
  test("a repeated batch changes nothing: each item is `unchanged`", async () => {
    const past = {
      id: `${ride}-past`,
      bike_id: "any",
      started_at: "2026-05-01T08:00:00+02:00",
      ended_at: "2026-05-01T08:10:00+02:00",
    };
    const batches = [
      () =>
        harness.past(past, {
          ...past,
          id: `${ride}-past-2`,
          bike_id: "any other",
          end_station_id: "unknown to us",
          rider_category: "casual",
        }),
      () => harness.start({ id: ride, bike_id: bike, started_at: inMinutes(0) }),
      () => harness.end({ id: ride, ended_at: inMinutes(0), end_station_id: "B" }),
      () => harness.stations(stationItem("A"), stationItem("B", { lat: 47.5, lon: 8.6, capacity: null })),
      () => harness.bikes({ id: bike, vehicle_type_id: "classic", station_id: "B" }),
      () => harness.report({ id: bike, at: inMinutes(0.2), current_range_meters: 5, lat: 1, lon: 2 }),
    ];
    for (const batch of batches) {
      const done = await batch();
      expect(done.failed).toBe(0);
      await refused(batch, ...done.results.map(() => "unchanged"));
    }
  });

  test("half a batch that is broken loses nothing of the other half", async () => {
    await harness.bikes(...[1, 2, 3].map((n) => ({ id: `${bike}-${n}`, station_id: "A" })));
    const results = await harness.start(
      { id: `${ride}-1`, bike_id: `${bike}-1` },
      { id: `${ride}-x`, bike_id: "nobody's" },
      { id: 5, bike_id: `${bike}-2` },
      { id: `${ride}-2`, bike_id: `${bike}-2`, colour: "red" },
      { id: `${ride}-3`, bike_id: `${bike}-3` },
      {},
    );
    expect(outcomes(results)).toEqual([
      "created",
      "not_found",
      "invalid_parameter",
      "invalid_parameter",
      "created",
      "invalid_parameter",
    ]);
    expect(results.failed).toBe(4);
    expect(results.results.map(({ id }) => id)).toEqual([
      `${ride}-1`,
      `${ride}-x`,
      null,
      `${ride}-2`,
      `${ride}-3`,
      null,
    ]);
    expect(results.results.map(({ error }) => error?.message ?? null)).toEqual([
      null,
      "There is no bike nobody's.",
      "id must be a string, not a number.",
      "unknown field colour of the item.",
      null,
      "id must be given; bike_id must be given.",
    ]);
    await harness.expectSound();
  });

  test("the same bike twice: the first gets it", async () => {
    const results = await harness.start({ id: `${ride}-1`, bike_id: bike }, { id: `${ride}-2`, bike_id: bike });
    expect(outcomes(results)).toEqual(["created", "ride_conflict"]);
    await harness.expectSound();
  });

  test("the same ride id twice: done once", async () => {
    const start = { id: ride, bike_id: bike };
    expect(outcomes(await harness.start(start, start, { id: ride, bike_id: "another" }))).toEqual([
      "created",
      "unchanged",
      "ride_conflict",
    ]);
    expect(outcomes(await harness.end({ id: ride }, { id: ride }))).toEqual(["updated", "unchanged"]);
    const past = { id: `${ride}-p`, bike_id: "any", started_at: inMinutes(-9), ended_at: inMinutes(-1) };
    expect(outcomes(await harness.past(past, past))).toEqual(["created", "invalid_parameter"]);
    await harness.expectSound();
  });
});

describe("two commands at once", () => {
  test("on one bike: one starts its ride, the others are refused", async () => {
    const results = await Promise.all(
      Array.from({ length: 8 }, (_, n) => harness.start({ id: `${ride}-${n}`, bike_id: bike })),
    );
    expect(results.flatMap(outcomes).sort()).toEqual(["created", ...Array<string>(7).fill("ride_conflict")]);
    await harness.expectSound();
  });

  test("with one ride id on two bikes: one ride starts", async () => {
    await harness.bikes({ id: `${bike}-2`, station_id: "A" });
    const results = await Promise.all([
      harness.start({ id: ride, bike_id: bike }),
      harness.start({ id: ride, bike_id: `${bike}-2` }),
    ]);
    expect(results.flatMap(outcomes).sort()).toEqual(["created", "ride_conflict"]);
    await harness.expectSound();
  });

  test("that end and cancel one ride: one of them does", async () => {
    await harness.start({ id: ride, bike_id: bike });
    const results = await Promise.all([
      harness.end({ id: ride }),
      harness.cancel({ id: ride }),
      harness.end({ id: ride }),
    ]);
    const seen = results.flatMap(outcomes);
    expect(seen.filter((outcome) => outcome === "updated")).toHaveLength(1);
    expect((await harness.events()).filter((event) => event.endsWith(` ${ride}`))).toHaveLength(2);
    await harness.expectSound();
  });

  test("that start and end one ride never end it without giving back its bike", async () => {
    await harness.bikes({ id: `${bike}-2`, station_id: "A" });
    await harness.start({ id: `${ride}-2`, bike_id: `${bike}-2` });
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: locked, resolve: isLocked } = Promise.withResolvers<void>();
    const holder = harness.db.transaction(async (tx) => {
      await tx.query(lockBike, [harness.systemId, `${bike}-2`]);
      isLocked();
      await released;
    });
    await locked;
    // The command looks up the bikes of both rides, finds one, and waits for its lock. Meanwhile the other ride starts.
    const ends = harness.end({ id: ride, end_station_id: "A" }, { id: `${ride}-2`, end_station_id: "A" });
    await until(async () => (await harness.db.query(waiting)).length > 0);
    await harness.start({ id: ride, bike_id: bike });
    release();
    await holder;
    expect(outcomes(await ends)).toEqual(["updated", "updated"]);
    await harness.expectSound();
  });
});
