/*
 * Checks of what docs/two-nodes.md and docs/citus.md promise about databases: recovery to an instant, the loss of the
 * primary, and distribution over machines. The walk (walk.ts) runs the commands of these pages, block by block.
 */
import assert from "node:assert/strict";
import { cpSync, globSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { callersOf, keyOf, startCalls } from "./calls.ts";
import type { Check, Context } from "./context.ts";
import type { Machine } from "./machines.ts";
import { Writes } from "./writes.ts";

/** By heading of a page: what the walk does before the first block of commands under that heading. */
export const databasePreparations: Readonly<Record<string, Check>> = {
  "To any instant": startWrites,
  "Going back": async (context) => {
    // The last block of "To any instant" has chosen an instant. Makes sure that some writes happen after it.
    for (let writes = 0; writes < 5; writes++) await writesOf(context).untilAcknowledged(10_000);
    await writesOf(context).stop();
  },
  "From one PostgreSQL to two, under Patroni": rememberRides,
  "Changing places": async (context) => {
    await startCalls(context);
    await startWrites(context);
    await writesOf(context).untilAcknowledged(10_000);
  },
  "Several machines, with Citus": async (context) => {
    // Copies the files that the Citus package would install. Without this variable, the walk leaves out this heading.
    const citus = process.env["GUIDE_CITUS"] ?? "";
    for (const name of ["db", "db2"] as const)
      for (const file of globSync("usr/{lib,share}/postgresql/15/**/citus*", { cwd: citus }))
        cpSync(join(citus, file), join(context.roots[name], file), { recursive: true });
    await rememberRides(context);
  },
};

/** By heading, then by what the page promises there: the check, which the walk makes after the heading's last block. */
export const databaseChecks: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  "Going back": { "what was written before the instant is there, and nothing that was written after it": backInTime },
  "Removing the copy": { "of the base backups three stay, and of the archive what they need": archiveOfThree },
  "From one PostgreSQL to two, under Patroni": {
    "doctor finds that commits wait for the standby": async ({ outputs }) => {
      for (const node of ["a", "b"] as const) assert.match(outputs.get(node) ?? "", /^ *ok +failover/m);
    },
    "the data are those of before": sameRides,
  },
  "Changing places": {
    "no request failed meanwhile, nor a write": async (context) => {
      await writesOf(context).untilAcknowledged(60_000);
      const writes = writesOf(context);
      const { count, failures } = await (await callersOf(context)).stop();
      assert.deepEqual([...failures, ...writes.failures], []);
      console.log(
        `               ${count} reads, ${writes.acknowledged.length} writes, none acknowledged for ${writes.longestGapMs} ms`,
      );
      await context.machines.db2.until(`${LIST} | grep 'db2 .*Leader .*running'`, 60_000);
      await context.machines.db2.until(`${LIST} | grep 'db .*Sync Standby'`, 60_000);
    },
    "the primary's machine is lost: the service answers again, and has every acknowledged write": losePrimary,
    "the machine comes back as a standby": async ({ machines: { db, db2 } }) => {
      await db2.boot();
      console.log(await db.until(`${LIST} | grep 'db2 .*Sync Standby'`, 120_000));
    },
  },
  "Several machines, with Citus": {
    "the tables are distributed, and the service answers with the data of before": async (context) => {
      const distributed = await psql(context.machines.db, 5432, "select count(*) from citus_tables");
      assert.ok(Number(distributed) > 25, distributed);
      await sameRides(context);
      await startWrites(context);
      await writesOf(context).untilAcknowledged(30_000);
      await writesOf(context).stop();
    },
  },
};

/** Lists PostgreSQL's servers with their roles. */
const LIST = "patronictl -c /etc/patroni/config.yml list";

/** Starts writing stations, until `stop`. */
async function startWrites(context: Context): Promise<void> {
  const { a } = context.machines;
  const issued = JSON.parse(await a.run("bikeshare --json keys issue --operator")) as { key: string };
  context.found.set("writes", new Writes(await callersOf(context), issued.key));
}

function writesOf({ found }: Context): Writes {
  const writes = found.get("writes");
  assert.ok(writes instanceof Writes);
  return writes;
}

const psql = (machine: Machine, port: number, statement: string) =>
  machine.run(`cd / && runuser -u postgres -- psql -p ${port} -qAt bikeshare -c "${statement}"`);

/** Returns the ids of the stations that a PostgreSQL has: each write of the walk creates one. */
async function storedStations(machine: Machine, port: number): Promise<ReadonlySet<string>> {
  return new Set((await psql(machine, port, "select id from stations")).split("\n"));
}

/** The port of the copy that the page restores. */
const COPY_PORT = 5433;

/** Compares the writes of the walk with a copy that the page restored to the instant in its variable `INSTANT`. */
async function backInTime(context: Context): Promise<void> {
  const { acknowledged } = writesOf(context);
  // The page's shell stores its variables in ~/.state after each block. `tr` makes single quotes of its double quotes.
  const [, instant = ""] =
    /'([^']+)'/.exec(await context.machines.db.run("grep ^declare.*INSTANT= ~/.state | tr '\"' \"'\"")) ?? [];
  const at = millisecondsOf(instant);
  // PostgreSQL has microseconds, the walk has milliseconds. Writes within a millisecond of the instant are not checked.
  const before = acknowledged.filter(({ answeredAt }) => answeredAt.getTime() < at - 1);
  const after = acknowledged.filter(({ sentAt }) => sentAt.getTime() > at + 1);
  assert.ok(before.length > 10 && after.length > 0, `${before.length} and ${after.length} writes`);
  const stored = await storedStations(context.machines.db, COPY_PORT);
  assert.deepEqual(
    before.filter(({ id }) => !stored.has(id)),
    [],
  );
  assert.deepEqual(
    after.filter(({ id }) => stored.has(id)),
    [],
  );
  console.log(`               ${before.length} writes before ${instant} are there, ${after.length} after it are not`);
}

/** Returns an instant as the page writes it, `2026-01-31 12:00:00.123456789 +00:00`, in milliseconds since 1970. */
function millisecondsOf(instant: string): number {
  const [date = "", time = "", zone = ""] = instant.split(" ");
  return Date.parse(`${date}T${time.replace(/\.(\d{3})\d*/, ".$1")}${zone}`);
}

/** Makes three more base backups. Then only three are left, and the oldest segment of the archive is gone. */
async function archiveOfThree({ machines: { db } }: Context): Promise<void> {
  const list = (files: string) => db.run(`cd /var/backups/postgresql/*-main && ls ${files}`);
  const segments = "wal | grep -x '[0-9A-F]*.gz'";
  const [first = ""] = (await list(segments)).split("\n");
  for (let base = 0; base < 3; base++) await db.run("systemctl start pg_basebackup@$(ls /var/backups/postgresql)");
  assert.equal((await list("-d *backup")).split("\n").length, 3);
  const left = (await list(segments)).split("\n");
  assert.ok(left.length > 0 && left.every((segment) => segment > first), `${first} is still among ${left.join()}`);
}

/**
 * Ends the machine of the primary, which is db2 after "Changing places", while stations are created. Compares what the
 * standby has with what was answered.
 */
async function losePrimary(context: Context): Promise<void> {
  const { db, db2 } = context.machines;
  const writes = writesOf(context);
  const lostAt = performance.now();
  await db2.end();
  // A write that was under way at the loss may still be acknowledged. After a second, the next one goes to the new primary.
  await wait(1000);
  await writes.untilAcknowledged(90_000);
  console.log(`               written again ${Math.round(performance.now() - lostAt)} ms after the loss`);
  await writes.stop();
  await db.until(`${LIST} | grep 'db .*Leader .*running'`, 30_000);
  const stored = await storedStations(db, 5432);
  assert.deepEqual(
    writes.acknowledged.filter(({ id }) => !stored.has(id)),
    [],
  );
  const unexpected = writes.failures.filter((failure) => !/: 503 .*"unavailable"/.test(failure));
  assert.deepEqual(unexpected, []);
  console.log(
    `               ${writes.acknowledged.length} acknowledged writes, none lost; ${writes.failures.length} refused with 503; none acknowledged for ${writes.longestGapMs} ms`,
  );
}

/** Returns the first page of rides as a partner gets it. */
const rides = async (context: Context) => (await callersOf(context)).get("b", "/v1/rides?limit=50", keyOf(context));

async function rememberRides(context: Context): Promise<void> {
  const answer = await rides(context);
  assert.equal((answer.body as { readonly data: readonly unknown[] }).data.length > 20, true);
  context.found.set("rides", answer);
}

async function sameRides(context: Context): Promise<void> {
  assert.deepEqual(await rides(context), context.found.get("rides"));
}
