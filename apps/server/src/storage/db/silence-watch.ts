import type pg from "pg";
import { DatabaseUnavailable } from "./errors.ts";

/**
 * Finds connections that are dead without a word, as after a firewall has forgotten them or a machine has lost its power:
 * the system would notice after a quarter of an hour, and a statement's own time limit after twelve seconds.
 *
 * A connection that has been silent for a while although a statement is under way is looked up in `pg_stat_activity`, over
 * a new connection. Where PostgreSQL runs no statement on it, the statement or its result was lost.
 */
export interface SilenceWatch {
  /** Watches a connection until it ends. */
  add(client: pg.Client | pg.PoolClient): void;
  close(): void;
}

/** Between two checks. Shorter only checks more often; longer finds a dead connection later. */
const CHECK_INTERVAL_MS = 500;
/** Of silence, before PostgreSQL is asked. Lower asks about statements that are merely slow. */
const SILENCE_MS = 1_500;
/** For the question. A database that is slow to answer it is slow, and nothing is known about its connections. */
export const QUESTION_TIMEOUT_MS = 2_500;
/** Answers in a row that say a connection is lost: the first may have crossed with a result. */
const ANSWERS_NEEDED = 2;

/** A connection, what it had read at the last check, and since when it has read nothing. */
interface Watched {
  readonly client: pg.Client | pg.PoolClient;
  bytesRead: number;
  since: number;
  lostAnswers: number;
}

/** What pg's types leave out. */
interface ClientState {
  readonly processID: number | null;
  /** False while a statement is under way. */
  readonly readyForQuery: boolean;
}

/** @param createClient for one question, with its timeouts */
export function watchSilence(createClient: () => pg.Client): SilenceWatch {
  const watched = new Set<Watched>();
  let isAsking = false;
  const check = () => {
    const now = performance.now();
    const silent = [...watched].filter((each) => isSilent(each, now));
    if (silent.length === 0 || isAsking) return;
    isAsking = true;
    askAbout(silent, createClient)
      .catch(() => undefined)
      .finally(() => (isAsking = false));
  };
  const timer = setInterval(check, CHECK_INTERVAL_MS).unref();
  return {
    add(client) {
      const each = { client, bytesRead: 0, since: performance.now(), lostAnswers: 0 };
      watched.add(each);
      client.once("end", () => watched.delete(each));
    },
    close: () => clearInterval(timer),
  };
}

function isSilent(each: Watched, now: number): boolean {
  const bytesRead = bytesReadOf(each.client);
  if (stateOf(each.client).readyForQuery || bytesRead !== each.bytesRead) {
    Object.assign(each, { bytesRead, since: now, lostAnswers: 0 });
  }
  return now - each.since >= SILENCE_MS;
}

/** Ends those of the connections that PostgreSQL runs nothing on. */
async function askAbout(silent: readonly Watched[], createClient: () => pg.Client): Promise<void> {
  const asked = silent.map((each) => ({ each, bytesRead: bytesReadOf(each.client) }));
  const activity = await readActivity(
    createClient(),
    silent.map(({ client }) => stateOf(client).processID ?? 0),
  );
  for (const { each, bytesRead } of asked) {
    const { client } = each;
    const { readyForQuery, processID } = stateOf(client);
    if (readyForQuery || bytesReadOf(client) !== bytesRead) continue;
    each.lostAnswers = activity.isLost(processID ?? 0) ? each.lostAnswers + 1 : 0;
    if (each.lostAnswers < ANSWERS_NEEDED) continue;
    client.connection.stream.destroy(
      new DatabaseUnavailable("the connection to the database went dead without a word"),
    );
  }
}

async function readActivity(client: pg.Client, processIds: readonly number[]) {
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ pid: number; state: string | null }>(
      "select pid, case when pid = pg_backend_pid() then 'self' else state end as state from pg_stat_activity where pid = any($1) or pid = pg_backend_pid()",
      [processIds],
    );
    const states = new Map(rows.map(({ pid, state }) => [pid, state]));
    // A pooler gives its own numbers: of those that it does not know PostgreSQL says nothing.
    const isDirect = states.get(stateOf(client).processID ?? 0) === "self";
    return {
      isLost: (processId: number) => {
        const state = states.get(processId);
        return state === undefined ? isDirect : state === "idle" || (state ?? "").startsWith("idle in transaction");
      },
    };
  } finally {
    client.end().catch(() => undefined);
  }
}

function stateOf(client: pg.Client | pg.PoolClient): ClientState {
  return client as unknown as ClientState;
}

function bytesReadOf({ connection: { stream } }: pg.Client | pg.PoolClient): number {
  return "bytesRead" in stream ? Number(stream.bytesRead) : 0;
}
