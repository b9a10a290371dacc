import type { Database } from "../../../src/storage/db/database.ts";
import { statement } from "../../../src/storage/db/statement.ts";

/** The result of comparing the database with the requests that the receiver got. */
export interface CrashChecks {
  readonly events: number;
  readonly deliveries: number;
  readonly receipts: number;
  /** Events whose commit was acknowledged, but that lack a delivery for some endpoint. */
  readonly eventsLost: number;
  /** Deliveries that did not succeed, or that succeeded in the log but were not received. */
  readonly deliveriesLost: number;
  /** Receipts beyond one for each delivery. */
  readonly repeats: number;
  /** Attempts with an unknown result. */
  readonly unknown: number;
  /** Attempts that the log calls succeeded, although the receiver did not get exactly their bytes. */
  readonly notAsLogged: number;
  /** Receipts that no attempt in the log explains, not even one with an unknown result. */
  readonly notInLog: number;
  /** Deliveries whose attempts are not numbered 1, 2, 3, … */
  readonly gapsInLog: number;
}

interface Logged {
  readonly delivery_id: string;
  readonly number: number;
  readonly outcome: string;
  readonly hash: string | null;
}
const deliveries = statement(
  "crash.deliveries",
  "select id, event_id, status from webhook_deliveries where system_id = $1 order by id",
);
const attempts = statement(
  "crash.attempts",
  `select delivery_id, number, outcome, encode(sha256(convert_to(request_body, 'UTF8')), 'hex') as hash
   from webhook_attempts where system_id = $1 order by delivery_id, number`,
);

/** Compares the database with the receipts. Call it when the queue is empty. */
export async function checkCrashes(
  db: Database,
  receipts: ReadonlyMap<string, readonly string[]>,
  acknowledged: readonly string[],
  endpoints: number,
): Promise<CrashChecks> {
  const rows = await db.query<{ id: string; event_id: string; status: string }>(deliveries, ["main"]);
  const log = Map.groupBy(await db.query<Logged>(attempts, ["main"]), (attempt) => attempt.delivery_id);
  const byEvent = Map.groupBy(rows, (row) => row.event_id);
  const came = (id: string) => receipts.get(id) ?? [];
  const logOf = (id: string) => log.get(id) ?? [];
  const all = [...new Set([...receipts.keys(), ...log.keys()])];
  const count = (numbers: readonly number[]) => numbers.reduce((sum, n) => sum + n, 0);
  return {
    events: byEvent.size,
    deliveries: rows.length,
    receipts: count(all.map((id) => came(id).length)),
    eventsLost: acknowledged.filter((id) => byEvent.get(id)?.length !== endpoints).length,
    deliveriesLost: rows.filter(({ id, status }) => status !== "succeeded" || came(id).length === 0).length,
    repeats: count(all.map((id) => Math.max(0, came(id).length - 1))),
    unknown: count(all.map((id) => unknownIn(logOf(id)))),
    notAsLogged: count(all.map((id) => knownIn(logOf(id)).filter((hash) => !came(id).includes(hash)).length)),
    notInLog: count(all.map((id) => Math.max(0, surplus(came(id), logOf(id)) - unknownIn(logOf(id))))),
    gapsInLog: all.filter((id) => logOf(id).some(({ number }, index) => number !== index + 1)).length,
  };
}

function unknownIn(log: readonly Logged[]): number {
  return log.filter(({ outcome }) => outcome === "unknown").length;
}

function knownIn(log: readonly Logged[]): string[] {
  return log.flatMap(({ outcome, hash }) => (outcome === "succeeded" ? [hash ?? ""] : []));
}

/** Returns the number of receipts whose bytes equal no logged request. */
function surplus(came: readonly string[], log: readonly Logged[]): number {
  const hashes = new Set(log.map(({ hash }) => hash));
  return came.filter((hash) => !hashes.has(hash)).length;
}
