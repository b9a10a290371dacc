import { readFile } from "node:fs/promises";
import type { Database } from "../../../src/storage/db/database.ts";
import { statement } from "../../../src/storage/db/statement.ts";
import type { Receipt } from "./receiver.process.ts";

/** What the run comes to. All but the first three must be 0. */
export interface DoneChecks {
  readonly events: number;
  readonly deliveries: number;
  readonly attempts: number;
  /** Of requests: the signature was wrong. */
  readonly notVerified: number;
  readonly notSucceeded: number;
  /** Deliveries whose last attempt's bytes, as logged, the receiver did not answer with success. */
  readonly notAsLogged: number;
  /** Attempts that the receiver answered and did not get as they are logged. */
  readonly answeredNotAsLogged: number;
  /** Requests that no attempt of the log accounts for. */
  readonly notInLog: number;
  /** Events of the list that the endpoint wants, and that it has no delivery of. */
  readonly notDelivered: number;
  /** Deliveries of what is not in the list of events. */
  readonly notListed: number;
}

interface Listed {
  readonly id: string;
  readonly event: string;
  readonly occurred_at: string;
}

interface Logged {
  readonly delivery_id: string;
  readonly outcome: string;
  readonly status: number | null;
  readonly hash: string | null;
}
const deliveries = statement(
  "done.deliveries",
  "select id, event_id, status from webhook_deliveries where system_id = $1 and endpoint_id = $2",
);
const attempts = statement(
  "done.attempts",
  `select delivery_id, outcome, status, encode(sha256(convert_to(request_body, 'UTF8')), 'hex') as hash
   from webhook_attempts where system_id = $1 and endpoint_id = $2 order by delivery_id, number`,
);

/** @param since only events that happened after the endpoint was made for certain */
export async function checkDone(
  db: Database,
  {
    systemId,
    endpointId,
    wanted,
    since,
  }: {
    readonly systemId: string;
    readonly endpointId: string;
    readonly wanted: readonly string[];
    readonly since: number;
  },
  listed: readonly Listed[],
  receiptsFile: string,
): Promise<DoneChecks> {
  const lines = (await readFile(receiptsFile, "utf8")).split("\n").filter((line) => line !== "");
  const receipts = lines.map((line) => JSON.parse(line) as Receipt);
  const came = new Map(receipts.map((receipt) => [receipt.hash, receipt]));
  const rows = await db.query<{ id: string; event_id: string; status: string }>(deliveries, [systemId, endpointId]);
  const log = await db.query<Logged>(attempts, [systemId, endpointId]);
  const byDelivery = Map.groupBy(log, (attempt) => attempt.delivery_id);
  const logged = new Set(log.map(({ hash }) => hash));
  const delivered = new Set(rows.map((row) => row.event_id));
  const listedIds = new Set(listed.map(({ id }) => id));
  const ofRun = listed.filter(({ event, occurred_at: at }) => wanted.includes(event) && Date.parse(at) > since);
  const last = (id: string) => byDelivery.get(id)?.at(-1)?.hash ?? "";
  const isUnknown = (id: string) => byDelivery.get(id)?.some(({ outcome }) => outcome === "unknown") === true;
  return {
    events: ofRun.length,
    deliveries: rows.length,
    attempts: log.length,
    notVerified: receipts.filter(({ verified }) => !verified).length,
    notSucceeded: rows.filter(({ status }) => status !== "succeeded").length,
    notAsLogged: rows.filter(({ id }) => came.get(last(id))?.answered !== 204).length,
    answeredNotAsLogged: log.filter(({ status, hash }) => status !== null && came.get(hash ?? "")?.answered !== status)
      .length,
    notInLog: receipts.filter(({ id, hash }) => !logged.has(hash) && !isUnknown(id)).length,
    notDelivered: ofRun.filter(({ id }) => !delivered.has(id)).length,
    notListed: rows.filter((row) => !listedIds.has(row.event_id)).length,
  };
}
