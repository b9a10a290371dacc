import { bike as bikeSchema, type ListEnvelope } from "@bikeshare/contract";
import { randomRuns } from "@bikeshare/test-kit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startRemovedBikesSweeper } from "../src/city/changes/service.ts";
import { upsertBikes } from "../src/city/fleet/bike-commands.ts";
import { applyBikeSnapshot } from "../src/city/fleet/bike-snapshot.ts";
import { runCommand } from "../src/city/fleet/command.ts";
import { batchOf, deletePastRides, writePastRides } from "../src/city/fleet/ride-import.ts";
import { upsertStations } from "../src/city/fleet/station-commands.ts";
import { statement } from "../src/storage/db/statement.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { createMirror, followUnderLoad, LONG_MS } from "./follow.ts";
import { until } from "./until.ts";
import { type Item, refused, slice } from "./walk.ts";

let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await startTestApp();
  ({ key } = await app.issue());
});
afterAll(() => app.close());

const context = () => ({ db: app.db, clock: app.clock, ids: app.ids, actor: "test" });
const get = (path: string) => slice(app, path);
const setRange = (ids: readonly string[], current_range_meters: number, db = app.db) =>
  upsertBikes(
    { ...context(), db },
    app.systemId,
    ids.map((id) => ({ item: { id, vehicle_state: "available" as const, current_range_meters } })),
  );
const idsOf = (items: readonly Item[]) => items.map(({ id }) => id);
const SINCE = "2000-01-01T00:00:00Z";
const checkpointOf = async (path: string, on = app): Promise<string> => {
  const { checkpoint } = await slice(on, `${path}${path.includes("?") ? "&" : "?"}updated_since=${SINCE}&limit=200`);
  if (checkpoint === undefined) throw new Error("the last page has no checkpoint");
  return checkpoint;
};

/** Changes a bike in a transaction that stays open until `end` is called. */
async function changeSlowly(id: string, range: number) {
  const [changed, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const done = app.db.transaction(async (tx) => {
    await setRange([id], range, tx as never);
    // The result of this statement shows that the write of the bike has been executed, too.
    await tx.query(statement("", "select 1"));
    changed.resolve();
    await ended.promise;
  });
  await changed.promise;
  return () => {
    ended.resolve();
    return done;
  };
}

describe("a list whose changes are followed", () => {
  it("is walked with updated_since, and then gives what has changed, in the order of the changes", async () => {
    await setRange(["a", "b", "c"], 1);
    const mirror = createMirror(get, "/v1/bikes", { limit: 2 });
    expect(idsOf(await mirror.follow())).toEqual(["a", "b", "c"]);
    await setRange(["c"], 2);
    await setRange(["a"], 2);
    expect(idsOf((await mirror.follow()).slice(-2))).toEqual(["c", "a"]);
  });

  it("leaves out no change of a transaction that was open during a walk, as updated_since alone does", async () => {
    const mirror = createMirror(get, "/v1/bikes");
    await mirror.follow();
    let begun = SINCE;
    const old = createMirror(get, "/v1/bikes", {
      ask: () => {
        const query = { updated_since: begun };
        begun = new Date(app.clock()).toISOString();
        return query;
      },
    });
    await old.follow();
    const end = await changeSlowly("b", 77);
    app.clock.advance(1000);
    await setRange(["c"], 78);
    const begunAt = performance.now();
    while (performance.now() - begunAt < LONG_MS) await Promise.all([mirror.follow(), old.follow()]);
    expect(mirror.items.get("c")).toContain("78");
    await end();
    await Promise.all([mirror.follow(), old.follow()]);
    expect(mirror.items.get("b")).toContain("77");
    expect(old.items.get("b")).not.toContain("77");
  });

  it("is mirrored to the byte, however writers overlap and their clocks are wrong", async () => {
    const { db, systemId, partnerId } = app;
    for (const { list, mirrored, present } of await followUnderLoad({
      ...{ db, systemId, partnerId, get },
      changes: randomRuns(10),
    })) {
      expect(mirrored, list).toEqual(present);
    }
  });

  it("says the same as long as nothing changes: an answer that is kept is current", async () => {
    let checkpoint: string | undefined = await checkpointOf("/v1/bikes");
    // Changes of the last second may be returned again, so waits until none is.
    await until(async () => {
      const page: ListEnvelope<Item> = await slice(app, `/v1/bikes?limit=200&changes_since=${checkpoint}`);
      checkpoint = page.checkpoint;
      return page.data.length === 0;
    });
    const again = `/v1/bikes?changes_since=${checkpoint}`;
    expect(await slice(app, again)).toEqual({ data: [], checkpoint });
    const etag = (await app.get(again)).headers.get("etag");
    expect((await app.get(again, { headers: { "if-none-match": String(etag) } })).status).toBe(304);
  });

  it("has no page numbers, and no checkpoint where it is read by number", async () => {
    const checkpoint = await checkpointOf("/v1/rides");
    expect(Object.keys(await slice(app, `/v1/rides?changes_since=${checkpoint}`))).toEqual(["data", "checkpoint"]);
    const numbered = await slice(app, `/v1/rides?updated_since=${SINCE}&page=1&limit=200`);
    expect(Object.keys(numbered)).toEqual(["data", "page", "total_pages"]);
  });

  it("takes a checkpoint of itself and of its filters alone, whatever updated_since was", async () => {
    const checkpoint = await checkpointOf("/v1/bikes?vehicle_state=available");
    expect(
      (await slice(app, `/v1/bikes?vehicle_state=available&changes_since=${checkpoint}`)).checkpoint,
    ).toBeDefined();
    const foreign = {
      status: 400,
      error: "invalid_cursor",
      message: expect.stringContaining("changes_since") as string,
    };
    for (const path of ["/v1/bikes?", "/v1/bikes?vehicle_state=missing&", "/v1/stations?vehicle_state=available&"]) {
      const answer = await refused(app, `${path}changes_since=${checkpoint}`);
      if (path.startsWith("/v1/bikes")) expect(answer).toMatchObject(foreign);
      else expect(answer).toMatchObject({ status: 400 });
    }
    for (const wrong of ["", "x", checkpoint.slice(1), `${checkpoint}A`])
      expect(await refused(app, `/v1/bikes?vehicle_state=available&changes_since=${wrong}`)).toMatchObject(foreign);
  });

  it("begins anew in another database, such as one that was restored from a backup", async () => {
    await checkpointOf("/v1/bikes");
    const other = await startTestApp();
    try {
      for (const list of ["stations", "bikes", "rides"]) {
        const path = `/v1/${list}?changes_since=${await checkpointOf(`/v1/${list}`)}`;
        expect(await refused(other, path)).toMatchObject({ status: 410, error: "checkpoint_lost" });
      }
    } finally {
      await other.close();
    }
  });
});

describe("what disappears", () => {
  const applyFeed = (ids: readonly string[]) => {
    const record = { number: null, vehicle_type_id: null, is_reserved: false, is_disabled: false, station_id: null };
    const more = { position: { lat: 1, lon: 2 }, current_range_meters: null, source_facts: null, last_reported: null };
    const records = new Map(ids.map((id) => [id, { ...record, ...more }]));
    const rest = { source: "feed", at: app.clock(), rejected: new Set<string>(), stationPositions: new Map() };
    return runCommand(context(), app.systemId, (command) => applyBikeSnapshot(command, { ...rest, records }));
  };

  it("a bike that its feed gives up is removed, and is there again if the feed lists it again", async () => {
    await applyFeed(["fed-1", "fed-2"]);
    const mirror = createMirror(get, "/v1/bikes");
    await mirror.follow();
    await applyFeed(["fed-2"]);
    await mirror.follow();
    const gone = bikeSchema.parse(JSON.parse(mirror.items.get("fed-1") ?? ""));
    expect(gone).toMatchObject({ vehicle_state: "removed", lat: null });
    expect(mirror.items.get("fed-2")).toContain("available");
    await applyFeed(["fed-1", "fed-2"]);
    await mirror.follow();
    expect(mirror.items.get("fed-1")).toContain("available");
  });

  it("whoever comes back after more than a week reads the bikes anew; what was kept for it is deleted", async () => {
    await applyFeed(["fed-3"]);
    await applyFeed([]);
    const sweep = async (daysAhead: number) => {
      const clock = () => performance.timeOrigin + performance.now() + daysAhead * 86_400_000;
      const sweeper = startRemovedBikesSweeper({
        ...{ db: app.db, clock },
        systems: () => Promise.resolve([app.systemId]),
        onError: (error) => {
          throw error;
        },
      });
      const swept = await sweeper.runOnce();
      await sweeper.close();
      return swept;
    };
    expect(await sweep(6)).toBe(0);
    expect(await sweep(8)).toBeGreaterThan(0);
  });

  it("an import that is undone takes its rides away: followers begin anew", async () => {
    const origin = { systemId: app.systemId, importId: null, source: "file", updatedAt: "2026-01-01T00:00:00Z" };
    const times = { startedAt: 1_700_000_000_000, endedAt: 1_700_000_600_000, durationSeconds: 600 };
    const fields = { row: 1, id: "imported", bikeId: "b", startStationId: null, endStationId: null, ...times };
    const ride = { ...fields, vehicleTypeId: null, riderCategory: null, endReason: null };
    await writePastRides(app.db, origin, batchOf(origin, [ride]), 0, true);
    await app.db.query(
      statement("", "update rides set import_id = 'import-1' where system_id = $1 and id = 'imported'"),
      [app.systemId],
    );
    const checkpoint = await checkpointOf("/v1/rides");
    const span = { first: new Date(times.startedAt), last: new Date(times.startedAt) };
    const rides = { ...span, systemId: app.systemId, importId: "import-1", writtenAt: new Date(origin.updatedAt) };
    const options = { slot: () => 0, record: () => Promise.resolve(), onProgress: () => undefined };
    expect(await deletePastRides(app.db, rides, options)).toBe(1);
    expect(await refused(app, `/v1/rides?changes_since=${checkpoint}`)).toMatchObject({
      status: 410,
      error: "checkpoint_lost",
    });
    expect(
      (await slice(app, `/v1/rides?changes_since=${await checkpointOf("/v1/rides")}`)).data.map(({ id }) => id),
    ).not.toContain("imported");
  });

  it("a hold that has ended is expired as soon as the clock says so, before anything writes it", async () => {
    await upsertStations(context(), app.systemId, [{ item: { id: "held", name: "Held", lat: 1, lon: 2 } }]);
    const bike = { id: "held", station_id: "held", vehicle_state: "available" as const };
    await upsertBikes(context(), app.systemId, [{ item: bike }]);
    const made = await fetch(`${app.url}/v1/reservations`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ bike_id: "held", hold_minutes: 1 }),
    });
    const { id } = (await made.json()) as { id: string };
    const mirror = createMirror(get, "/v1/reservations");
    await mirror.follow();
    expect(mirror.items.get(id)).toContain(`"active"`);
    app.clock.advance(61_000);
    await mirror.follow();
    expect(mirror.items.get(id)).toContain(`"expired"`);
  });

  it("holds that have ended are shown once each over several pages, and nothing beside them", async () => {
    const names = ["ended-1", "ended-2", "ended-3", "lasting"];
    const bikes = names.map((id) => ({ item: { id, lat: 1, lon: 2, vehicle_state: "available" as const } }));
    await upsertBikes(context(), app.systemId, bikes);
    const hold = async (bike_id: string) => {
      const made = await fetch(`${app.url}/v1/reservations`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ bike_id, hold_minutes: bike_id === "lasting" ? 30 : 1 }),
      });
      return ((await made.json()) as { id: string }).id;
    };
    const ids: string[] = [];
    for (const name of names) ids.push(await hold(name));
    const mirror = createMirror(get, "/v1/reservations", { limit: 1 });
    // Recent changes are returned again, so waits until none of these is.
    await until(async () => (await mirror.follow()).every(({ id }) => !ids.includes(id)));
    app.clock.advance(61_000);
    const shown = idsOf(await mirror.follow()).filter((id) => ids.includes(id));
    expect(shown).toEqual(ids.slice(0, 3));
  });
});
