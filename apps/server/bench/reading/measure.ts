import { setTimeout as sleep } from "node:timers/promises";
import { cpuMicroseconds, createHttpClient, type Requested, saturate } from "@bikeshare/load";
import { type Database, openDatabase } from "../../src/storage/db/database.ts";
import { postgresMicroseconds } from "../postgres-time.ts";

/** A server that is measured. */
export interface Subject extends Requested {
  readonly name: string;
  /** The id of the server's process. */
  readonly pid: number;
  /** The number of connections, if not `MeasureOptions.connections`. */
  readonly connections?: number;
}

/** The measured figures. The lists have one value for each repetition. */
export interface Figures {
  readonly perSecond: number[];
  /** Processor time of the answering process, µs a request. */
  readonly serverCpu: number[];
  /** Processor time of PostgreSQL, µs a request. */
  readonly postgresCpu: number[];
  /** Bytes of a response on average, in the latest repetition. */
  bytes: number;
}

export interface MeasureOptions {
  /** The PostgreSQL database that the subjects read. */
  readonly connectionString: string;
  readonly repetitions: number;
  readonly seconds: number;
  readonly connections: number;
  /** Milliseconds after each load whose processor time is counted too, because the service writes some data later. */
  readonly trailingMs?: number | undefined;
}

/** Seconds of the first repetition. */
const WARM_UP_SECONDS = 1.5;

/**
 * Measures subjects in turns, so that a slow minute of the machine affects all of them. The first repetition is a warm-up,
 * and is not counted.
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

/**
 * Most tries of a page that is not in memory yet: reading a filtered list from a slow disk may exceed the statement timeout.
 */
const MAX_TRIES = 30;

/** Requests each page once, so that the first read from disk is not measured. */
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

/**
 * Successive checks that must find no running statement, because a pool sends a waiting statement as soon as another has
 * ended.
 */
const QUIET_CHECKS = 3;
const CHECK_INTERVAL_MS = 50;

/**
 * Cancels the statements that a subject has left running, and waits until none runs, so that they do not slow down the next
 * subject. When the load ends, a slow subject still has running statements, and others that wait in its pool.
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
