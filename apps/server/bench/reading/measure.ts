import { setTimeout as sleep } from "node:timers/promises";
import { cpuMicroseconds, createHttpClient, type Requested, saturate } from "@bikeshare/load";
import { type Database, openDatabase } from "../../src/storage/db/database.ts";
import { postgresMicroseconds } from "../postgres-time.ts";

/** Something that answers requests and is measured. */
export interface Subject extends Requested {
  readonly name: string;
  /** The process that answers. */
  readonly pid: number;
  /** Connections; default that of all. */
  readonly connections?: number;
}

/** One value for each repetition. */
export interface Figures {
  readonly perSecond: number[];
  /** Processor time of the answering process, µs a request. */
  readonly serverCpu: number[];
  /** Processor time of PostgreSQL, µs a request. */
  readonly postgresCpu: number[];
  bytes: number;
}

export interface MeasureOptions {
  /** Of the PostgreSQL that answers. */
  readonly connectionString: string;
  readonly repetitions: number;
  readonly seconds: number;
  readonly connections: number;
  /** Milliseconds after each load whose processor time counts as well, for what is written later. */
  readonly trailingMs?: number | undefined;
}

const WARM_UP_SECONDS = 1.5;

/**
 * Measures subjects in turns, so that a slow minute of the machine meets all of them. The first repetition warms up: compiled
 * code, prepared statements, caches.
 */
export async function measure(subjects: readonly Subject[], options: MeasureOptions): Promise<Map<string, Figures>> {
  const figures = new Map<string, Figures>();
  for (const { name } of subjects) figures.set(name, { perSecond: [], serverCpu: [], postgresCpu: [], bytes: 0 });
  const db = openDatabase({ connectionString: options.connectionString, maxConnections: 1 });
  for (let repetition = 0; repetition <= options.repetitions; repetition++) {
    for (const subject of subjects) {
      if (repetition === 0) await touch(subject);
      const result = await measureOnce(db, subject, repetition === 0 ? WARM_UP_SECONDS : options.seconds, options);
      await untilQuiet(db);
      const figure = figures.get(subject.name);
      if (repetition === 0 || figure === undefined) continue;
      figure.perSecond.push(result.perSecond);
      figure.serverCpu.push(result.serverCpu);
      figure.postgresCpu.push(result.postgresCpu);
      figure.bytes = result.bytes;
    }
    process.stderr.write(`repetition ${repetition} of ${options.repetitions}\n`);
  }
  await db.close();
  return figures;
}

/** Tries of a page that is not in memory yet: PostgreSQL gives up reading a filtered list from a slow disk after a while. */
const MAX_TRIES = 30;

/** Asks for each page once, so that what is read of the disk for the first time is not measured. */
async function touch({ base, paths, headers = {}, keys: [key] = [], status = 200 }: Subject): Promise<void> {
  const client = createHttpClient(base, { connections: 1, timeoutMs: 60_000 });
  for (const path of paths) {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      if ((await client.ask({ path, key, headers })).status === status) break;
    }
  }
  client.close();
}

async function measureOnce(db: Database, subject: Subject, seconds: number, options: MeasureOptions) {
  const [server, postgres] = [await cpuMicroseconds(subject.pid), await postgresMicroseconds(db)];
  const result = await saturate(subject, subject.connections ?? options.connections, seconds);
  if (options.trailingMs !== undefined) await sleep(options.trailingMs);
  const requests = Math.max(1, result.requests);
  return {
    perSecond: result.requests / result.seconds,
    serverCpu: ((await cpuMicroseconds(subject.pid)) - server) / requests,
    postgresCpu: ((await postgresMicroseconds(db)) - postgres) / requests,
    bytes: Math.round(result.bytes / requests),
  };
}

/** Checks in a row that must find nothing running: a pool hands out what waited as soon as a statement has ended. */
const QUIET_CHECKS = 3;
const CHECK_INTERVAL_MS = 50;

/**
 * Cancels what a subject left running and waits until nothing runs: the next one must not pay for it. A slow subject has
 * statements under way, and more waiting in its pool, when the load ends.
 */
async function untilQuiet(db: Database): Promise<void> {
  for (let quiet = 0; quiet < QUIET_CHECKS;) {
    const cancelled = await db.query({
      name: "",
      text: `select pg_cancel_backend(pid) from pg_stat_activity
             where backend_type = 'client backend' and state = 'active' and pid <> pg_backend_pid()`,
    });
    quiet = cancelled.length === 0 ? quiet + 1 : 0;
    await sleep(CHECK_INTERVAL_MS);
  }
}
