import { randomUUID } from "node:crypto";
import { join } from "node:path";
import {
  cpuMicroseconds,
  discoverWorld,
  fillCity,
  median,
  type Percentiles,
  percentilesOf,
  runOpenLoop,
  runPlan,
  type World,
} from "@bikeshare/load";
import { type Database, openDatabase } from "../src/storage/db/database.ts";
import { statement } from "../src/storage/db/statement.ts";
import { postgresMicroseconds } from "./postgres-time.ts";
import { describeMachine, onPostgres, say, serve } from "./processes.ts";
import { makeOperatorKey, makePartner, openNewSystem } from "./provision.ts";

/*
 * Measures commands on the fleet in a city of Citi Bike's size: over HTTP with keys, rate limits and an Idempotency-Key for
 * each, in durable transactions with PostgreSQL's default settings. One run measures in turns: batches, single commands, and
 * for comparison the smallest possible durable command, an update of one row. In these turns each caller waits for its
 * response before it sends the next request (the closed model). Then single commands are measured at half of their measured
 * rate, each sent at its time whether or not others are answered (the open model). `pnpm bench live` runs it, in about two
 * minutes.
 */

const STATIONS = Number(process.env["BENCH_STATIONS"] ?? 1_800);
const BIKES = Number(process.env["BENCH_BIKES"] ?? 26_000);
const REPETITIONS = Number(process.env["BENCH_REPETITIONS"] ?? 3);
/** Milliseconds of each turn. */
const TURN_MS = 1000 * Number(process.env["BENCH_SECONDS"] ?? 4);
const WARM_UP_MS = 1_000;
const PARTNERS = 8;
/** How many callers, each over its own connection, send single commands at the same time. */
const CALLERS = 64;

/** The result of one run of a load: the answered calls, and percentiles of their milliseconds. */
interface Turn extends Percentiles {
  readonly calls: number;
}

/** One of the loads that are measured in turns. */
interface Load {
  readonly name: string;
  readonly commandsPerCall: number;
  /** How many callers send at the same time. */
  readonly connections: number;
  /** Runs the load in the closed model, or in the open model if a rate is given. */
  run(durationMs: number, callsPerSecond?: number): Promise<Turn>;
}

/** The scenarios of the load test. The other ones are compared with the first. */
const SCENARIOS = [
  { name: "100 rides a call, 4 conn.", scenario: "operator-batches", commandsPerCall: 100, connections: 4 },
  { name: `one ride a call, ${CALLERS} conn.`, scenario: "ride-commands", commandsPerCall: 1, connections: CALLERS },
  { name: "one ride a call, 1 conn.", scenario: "ride-commands", commandsPerCall: 1, connections: 1 },
  { name: `reserve, cancel, ${CALLERS} conn.`, scenario: "reservations", commandsPerCall: 1, connections: CALLERS },
] as const;
/**
 * The most runs: a warm-up, the turns, and perhaps one at half the rate for each scenario. Each run uses different bikes,
 * because a run leaves some bikes riding.
 */
const RUNS = SCENARIOS.length * (REPETITIONS + 2);

await onPostgres(async ({ directory, connectionString }) => {
  const context = await openNewSystem(connectionString);
  const operatorKey = await makeOperatorKey(context);
  const keys: string[] = [];
  for (let n = 0; n < PARTNERS; n++) keys.push((await makePartner(context, `Partner ${n}`)).key);
  await context.db.close();
  const server = await serve({ DATABASE_URL: connectionString, DATA_DIR: join(directory, "service") });
  const db = openDatabase({ connectionString });
  try {
    const { url, pid } = server;
    await fillCity(url, operatorKey, { stations: STATIONS, bikes: BIKES, rides: 0 }, 1);
    const needsBikes = true;
    const world = await discoverWorld(url, keys[0] ?? "", needsBikes);
    say(
      `${describeMachine()}; ${BIKES} bikes, ${STATIONS} stations; client, server and database share the machine; ` +
        `${REPETITIONS} repetitions of ${TURN_MS / 1000} s`,
    );
    const loads = [...scenarioLoads({ url, world, operatorKey, keys }), await durableRowLoad(db)];
    await measure(loads, db, pid);
  } finally {
    await db.close();
    await server.stop();
  }
});

/** A service with a city, and the keys of its callers. */
interface City {
  readonly url: string;
  /** The ids of the city's stations and bikes. */
  readonly world: World;
  readonly operatorKey: string;
  readonly keys: readonly string[];
}

/** Returns the loads that send requests to the service. They throw when a response is unexpected. */
function scenarioLoads({ url, world, operatorKey, keys }: City): Load[] {
  let runs = 0;
  return SCENARIOS.map(({ name, scenario, commandsPerCall, connections }) => ({
    name,
    commandsPerCall,
    connections,
    async run(durationMs, callsPerSecond) {
      const run = runs++;
      const bikes = world.bikes.filter((_, index) => index % RUNS === run);
      const outcome = await runPlan({
        plan: {
          url,
          world,
          operatorKey,
          durationMs,
          connections,
          warmUpMs: 0,
          workers: 1,
          seed: run,
          checkEvery: 1000,
          mode: callsPerSecond === undefined ? "closed" : "open",
          runId: randomUUID(),
          streams: [{ name, scenario, ratePerSecond: callsPerSecond ?? 0, arrivals: "constant", keys, bikes }],
        },
      });
      const { totals, violations, latency, streams } = outcome;
      if (totals.unexpected > 0 || violations.length > 0)
        throw new Error(`${name}: ${violations[0] ?? JSON.stringify(streams[0]?.outcomes)}`);
      const at = (percentile: string) => latency.response.percentiles[percentile] ?? Number.NaN;
      return { calls: totals.answered, p50: at("50"), p99: at("99"), max: at("100") };
    },
  }));
}

/**
 * Returns the load with the smallest possible durable command: a transaction that updates one row, over a pool like the
 * service's.
 */
async function durableRowLoad(db: Database): Promise<Load> {
  await db.transaction((tx) => tx.run("create table bench_rows (n integer primary key, value integer not null)"));
  const insert = statement("bench.rows", "insert into bench_rows select n, 0 from generate_series(0, $1) as n");
  await db.query(insert, [CALLERS]);
  const update = statement("bench.update", "update bench_rows set value = value + 1 where n = $1");
  const call = (n: number) => db.transaction((tx) => tx.send(update, [n % CALLERS]));
  return {
    name: `one durable row, ${CALLERS} callers`,
    commandsPerCall: 1,
    connections: CALLERS,
    async run(durationMs, callsPerSecond) {
      const times: number[] = [];
      const begun = performance.now();
      if (callsPerSecond === undefined) {
        const callAgain = async (_: unknown, n: number) => {
          for (let sent = performance.now(); sent - begun < durationMs; sent = performance.now()) {
            await call(n);
            times.push(performance.now() - sent);
          }
        };
        await Promise.all(Array.from({ length: CALLERS }, callAgain));
      } else {
        const count = Math.floor((callsPerSecond * durationMs) / 1000);
        const starts = Array.from({ length: count }, (_, n) => (n * 1000) / callsPerSecond);
        const running: Promise<unknown>[] = [];
        await runOpenLoop(starts, begun, (intendedAt) => {
          running.push(call(running.length).then(() => times.push(performance.now() - intendedAt)));
        });
        await Promise.all(running);
      }
      return { calls: times.length, ...percentilesOf(times) };
    },
  };
}

/** A load with its results. */
interface Measured {
  readonly load: Load;
  readonly turns: Turn[];
  /** Microseconds of processor time. */
  readonly used: { server: number; postgres: number };
}

/** Measures the loads in turns and prints the results. The first load is the one of batches, the last the durable row. */
async function measure(loads: readonly Load[], db: Database, serverPid: number): Promise<void> {
  const all = loads.map((load): Measured => ({ load, turns: [], used: { server: 0, postgres: 0 } }));
  for (const load of loads) await load.run(WARM_UP_MS);
  for (let repetition = 0; repetition < REPETITIONS; repetition++) {
    for (const { load, turns, used } of all) {
      const [server, postgres] = [await cpuMicroseconds(serverPid), await postgresMicroseconds(db)];
      turns.push(await load.run(TURN_MS));
      used.server += (await cpuMicroseconds(serverPid)) - server;
      used.postgres += (await postgresMicroseconds(db)) - postgres;
    }
  }
  say(`${"".padEnd(28)} commands/s  of batches   p50 ms   p99 ms  server µs  postgres µs (a command)`);
  for (const each of all) say(lineOf(each, all[0] ?? each));
  const durable = all.at(-1);
  // At half the rate only loads of single commands over many connections are compared, with the durable row.
  for (const single of all) {
    const isSingle = single.load.commandsPerCall === 1 && single.load.connections === CALLERS;
    if (isSingle && durable !== undefined && single !== durable) await compareAtHalf(single, durable);
  }
}

/** Divides by the planned duration: a turn ends later, when its last response has arrived. */
function commandsPerSecond({ load, turns }: Measured): number {
  const calls = turns.reduce((sum, turn) => sum + turn.calls, 0);
  return (calls * load.commandsPerCall) / ((turns.length * TURN_MS) / 1000);
}

/** Returns a line of the report. @param batches the load with which the rate is compared */
function lineOf(measured: Measured, batches: Measured): string {
  const { load, turns, used } = measured;
  const commands = turns.reduce((sum, { calls }) => sum + calls * load.commandsPerCall, 0);
  const rate = commandsPerSecond(measured);
  const cells: [value: number, digits: number, width: number][] = [
    [rate, 0, 10],
    [rate / commandsPerSecond(batches), 2, 11],
    [median(turns.map(({ p50 }) => p50)), 1, 8],
    [median(turns.map(({ p99 }) => p99)), 1, 8],
    [used.server / commands, 0, 10],
    [used.postgres / commands, 0, 12],
  ];
  return [load.name.padEnd(28), ...cells.map(([value, digits, width]) => value.toFixed(digits).padStart(width))].join(
    " ",
  );
}

/** Measures both loads, one after the other, at half the rate that single commands reached. */
async function compareAtHalf(single: Measured, durable: Measured): Promise<void> {
  const rate = commandsPerSecond(single) / 2;
  const ours = await single.load.run(2 * TURN_MS, rate);
  const least = await durable.load.run(2 * TURN_MS, rate);
  const line = ({ p50, p99 }: Turn) => `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`;
  say(
    `at ${rate.toFixed(0)}/s: ${single.load.name}: ${line(ours)}; ${durable.load.name}: ${line(least)}; ` +
      `p99 ${(ours.p99 / least.p99).toFixed(1)} ×`,
  );
}
