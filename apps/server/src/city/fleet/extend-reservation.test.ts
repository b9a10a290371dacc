import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startTestApp } from "../../../test/app.ts";
import { expireOverdueReservations } from "../../../test/reservations/expire-overdue.ts";
import {
  openReservationsHarness,
  outcomeOf,
  partner,
  type ReservationsHarness,
} from "../../../test/reservations/reservations.harness.ts";
import { openDatabase } from "../../storage/db/database.ts";
import { upsertBikes } from "./bike-commands.ts";
import { extendReservation } from "./reservation-commands.ts";

let harness: ReservationsHarness;

beforeEach(async () => {
  harness = await openReservationsHarness();
  await harness.fill("s", [{ id: "a" }]);
});
afterEach(() => harness.close());

const minutes = (n: number) => n * 60_000;
const inMinutes = (n: number) => new Date(harness.clock() + minutes(n)).toISOString();

describe("extending a hold", () => {
  test("holds the bike for so many minutes more, and changes nothing else", async () => {
    const made = await harness.create({ bike_id: "a", hold_minutes: 10, rider_ref: "rider" });
    harness.clock.advance(minutes(4));
    const extended = await harness.extend(made.id, 20);
    expect(extended).toEqual({ ...made, expires_at: inMinutes(26), updated_at: inMinutes(0) });
    expect(await harness.get(made.id)).toEqual(extended);
    harness.clock.advance(minutes(26) - 1);
    expect(await expireOverdueReservations(harness.live, harness.systemId, 10)).toBe(0);
    expect(await harness.bike("a")).toMatchObject({ vehicle_state: "reserved" });
    harness.clock.advance(1);
    expect(await expireOverdueReservations(harness.live, harness.systemId, 10)).toBe(1);
    expect((await harness.events()).map(({ name }) => name)).toEqual(["reservation.created", "reservation.expired"]);
  });

  test("never makes it longer than 60 minutes in all, and says how many are left", async () => {
    const { id } = await harness.create({ bike_id: "a", hold_minutes: 10 });
    await harness.extend(id, 30);
    await expect(harness.extend(id, 21)).rejects.toMatchObject({
      code: "hold_limit_reached",
      message: "A hold lasts at most 60 minutes in all. This one can be extended by 20 more.",
    });
    expect(await harness.extend(id, 20)).toMatchObject({ expires_at: inMinutes(60) });
    harness.clock.advance(minutes(60) - 1);
    expect(await outcomeOf(harness.extend(id, 1))).toBe("hold_limit_reached");
  });

  test("is too late for one that has ended, by the clock too, and another partner's is not there", async () => {
    const overdue = await harness.create({ bike_id: "a", hold_minutes: 1 });
    expect(await outcomeOf(harness.extend(overdue.id, 1, "partner-2"))).toBe("not_found");
    expect(await outcomeOf(harness.extend("unknown", 1))).toBe("not_found");
    harness.clock.advance(minutes(1));
    await expect(harness.extend(overdue.id, 1)).rejects.toMatchObject({
      code: "reservation_not_active",
      message: "The reservation is expired, so it cannot be extended.",
    });
    const given = await harness.create({ bike_id: "a" });
    await harness.cancel(given.id);
    expect(await outcomeOf(harness.extend(given.id, 1))).toBe("reservation_not_active");
  });

  test("at once with its expiry leaves it held to the new end, or expired; many at once add up to no more than the most", async () => {
    const other = openDatabase({ connectionString: harness.db.connectionString });
    try {
      for (let round = 0; round < 20; round++) {
        const { id } = await harness.create({ bike_id: "a", hold_minutes: 10 });
        // Simulates a process whose clock is ahead.
        const ahead = { ...harness.live, db: other, clock: () => harness.clock() + minutes(10) };
        const owner = { systemId: harness.systemId, partnerId: partner };
        const answers = await Promise.all([
          outcomeOf(extendReservation(harness.live, owner, id, 30)),
          outcomeOf(extendReservation({ ...harness.live, db: other }, owner, id, 30)),
          expireOverdueReservations(ahead, harness.systemId, 10).then(() => "swept"),
        ]);
        const kept = await harness.get(id);
        const extensions = answers.filter((answer) => answer === "made").length;
        expect(extensions).toBeLessThanOrEqual(1);
        expect(kept).toMatchObject(
          extensions === 1 ? { status: "active", expires_at: inMinutes(40) } : { status: "expired" },
        );
        expect(await harness.bike("a")).toMatchObject({ reservation_id: extensions === 1 ? id : null });
        if (extensions === 1) await harness.cancel(id);
      }
    } finally {
      await other.close();
    }
  });
});

describe("the list of reservations", () => {
  test("is filtered by the ride that fulfilled one, and by when they changed, expiries as of their own end", async () => {
    await harness.fill("t", [{ id: "b" }, { id: "c" }]);
    const start = harness.clock();
    const since = (n: number) => new Date(start + minutes(n)).toISOString();
    const ids = async (filters: Parameters<ReservationsHarness["list"]>[0]) =>
      (await harness.list(filters)).data.map(({ id }) => id);
    const [overdue, cancelled, lasting] = [
      await harness.create({ bike_id: "a", hold_minutes: 10 }),
      await harness.create({ bike_id: "b", hold_minutes: 30 }),
      await harness.create({ bike_id: "c", hold_minutes: 30 }),
    ];
    harness.clock.advance(minutes(5));
    await harness.cancel(cancelled.id);
    expect(await ids({ updated_since: since(5) })).toEqual([cancelled.id]);
    harness.clock.advance(minutes(10));
    for (const isSwept of [false, true]) {
      if (isSwept) await expireOverdueReservations(harness.live, harness.systemId, 10);
      expect(await ids({ updated_since: since(10) })).toEqual([overdue.id]);
      expect(await ids({ updated_since: since(10), status: "expired" })).toEqual([overdue.id]);
      expect(await ids({ updated_since: new Date(start + minutes(10) + 1).toISOString() })).toEqual([]);
    }
    await harness.extend(lasting.id, 5);
    expect(await ids({ updated_since: since(15) })).toEqual([lasting.id]);
    expect(await ids({ ride_id: "nobody" })).toEqual([]);
  });
});

test("over HTTP: a creation names where it is, an extension is made once under one key, and the ride finds its reservation", async () => {
  const app = await startTestApp();
  try {
    const { key } = await app.issue({ scopes: ["reservations:read", "reservations:write", "rides:read"] });
    const operator = await app.issue({ partnerId: null, scopes: [] });
    await upsertBikes(app, app.systemId, [{ item: { id: "a" } }]);
    const send = async (method: string, path: string, body: object, headers: Record<string, string> = {}, as = key) => {
      const response = await fetch(app.url + path, {
        method,
        headers: { authorization: `Bearer ${as}`, "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      });
      return { status: response.status, headers: response.headers, body: (await response.json()) as { id: string } };
    };
    const once = { "idempotency-key": "once" };
    const made = await send("POST", "/v1/reservations", { bike_id: "a" }, once);
    expect([made.status, made.headers.get("location")]).toEqual([201, `/v1/reservations/${made.body.id}`]);
    const again = await send("POST", "/v1/reservations", { bike_id: "a" }, once);
    expect(again.headers.get("location")).toBe(made.headers.get("location"));
    const path = made.headers.get("location") ?? "";
    const more = await send("PATCH", path, { hold_minutes: 20 }, once);
    expect([more.status, more.headers.get("idempotent-replayed")]).toEqual([200, null]);
    const repeated = await send("PATCH", path, { hold_minutes: 20 }, once);
    expect([repeated.status, repeated.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
    expect(repeated.body).toEqual(more.body);
    expect(await (await app.get(path, { key })).json()).toEqual(more.body);
    expect(await send("PATCH", path, { hold_minutes: 31 })).toMatchObject({ body: { error: "invalid_parameter" } });
    expect(await send("PATCH", path, {})).toMatchObject({ body: { error: "invalid_parameter" } });
    expect(await send("PATCH", path, { hold_minutes: 26 })).toMatchObject({
      status: 409,
      body: { error: "hold_limit_reached" },
    });
    const start = { items: [{ id: "ride-1", bike_id: "a" }] };
    await send("POST", "/operator/v1/rides/start", start, {}, operator.key);
    const found = await (await app.get("/v1/reservations?ride_id=ride-1", { key })).json();
    expect(found).toMatchObject({ data: [{ id: made.body.id, status: "fulfilled", ride_id: "ride-1" }] });
    const ride = (await (await app.get("/v1/rides/ride-1", { key })).json()) as object;
    expect(Object.keys(ride)).not.toContain("reservation_id");
  } finally {
    await app.close();
  }
});
