import { setImmediate } from "node:timers/promises";
import { randomRuns } from "@bikeshare/test-kit";
import pg from "pg";
import { afterEach, beforeEach, expect, it } from "vitest";
import {
  answers,
  killPostmaster,
  openHarness,
  query,
  type Harness,
  until,
  type User,
} from "../test/embedded-postgres.harness.ts";

const KILLS = randomRuns(6);
const WRITERS = 4;

let harness: Harness;
beforeEach(async () => {
  harness = await openHarness({ enterable: true });
});
afterEach(() => harness.clear());

/** Inserts row after row, over a new connection whenever one breaks, and remembers which were acknowledged. */
function startWriters(url: () => string) {
  const acknowledged: number[] = [];
  const stopping = new AbortController();
  let lastId = 0;
  const insertUntilBroken = async (client: pg.Client) => {
    await client.connect();
    while (!stopping.signal.aborted) {
      lastId += 1;
      const id = lastId;
      await client.query("insert into acknowledged_row (id, filling) values ($1, $2)", [id, "x".repeat(500)]);
      acknowledged.push(id);
    }
  };
  const write = async () => {
    while (!stopping.signal.aborted) {
      const client = new pg.Client({ connectionString: url(), connectionTimeoutMillis: 10_000 });
      client.on("error", () => {});
      // It fails because of the kill. Whether the last row was stored is unknown, so it is not counted.
      await insertUntilBroken(client).catch(() => {});
      await client.end().catch(() => {});
      await setImmediate();
    }
  };
  const writing = Array.from({ length: WRITERS }, write);
  const end = async () => {
    stopping.abort();
    await Promise.all(writing);
  };
  return { acknowledged, end };
}

/** A small seeded generator (mulberry32), so that a failing run can be repeated. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

it(
  `keeps every acknowledged row through ${KILLS} kills of the owner, of PostgreSQL, or of both`,
  // The test starts PostgreSQL many times, which takes long on a busy machine.
  { timeout: 600_000 },
  async () => {
    // With this seed the first six draws contain each victim twice.
    const random = seededRandom(19);
    let user: User = await harness.startUser();
    await query(user.connectionString, "create table acknowledged_row (id integer primary key, filling text)");
    const writers = startWriters(() => user.connectionString);
    try {
      for (let round = 0; round < KILLS; round += 1) {
        const goal = writers.acknowledged.length + Math.ceil(random() * 300);
        await until(() => writers.acknowledged.length >= goal);
        const victim = Math.floor(random() * 3);
        if (victim !== 0) await user.kill();
        if (victim !== 1) await killPostmaster(await harness.home());
        if (victim !== 0) user = await harness.startUser();
        else await until(() => answers(user.connectionString));
      }
    } finally {
      await writers.end();
    }
    const rows = await query(user.connectionString, "select id from acknowledged_row");
    const present = new Set(rows.map((row) => row["id"]));
    expect(writers.acknowledged.filter((id) => !present.has(id))).toEqual([]);
    expect(writers.acknowledged.length).toBeGreaterThan(KILLS);
    await user.close();
    expect(await answers(user.connectionString)).toBe(false);
  },
);
