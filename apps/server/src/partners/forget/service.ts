import type { ActorContext } from "../../command-context.ts";
import { insertActOf } from "../audit/queries.ts";
import {
  listJsonTables,
  listTablesWith,
  updateAnswers,
  updateJson,
  updateRequests,
  updateReservations,
} from "./queries.ts";

/** Limits the runs. Rows written during the first run are changed by the second, unless new ones keep coming. */
const MAX_RUNS = 3;

/** The number of rows from which a reference was removed, by table. */
export type ForgottenRows = Readonly<Record<string, number>>;

/**
 * Takes a rider's reference from all that is kept in a system: reservations, events, webhooks and their log, and answers
 * kept for repeated requests. Then searches every column of every table for the reference.
 * @throws Error when some is left, because more is being written: it may be run again
 */
export async function forgetRider(context: ActorContext, systemId: string, riderRef: string): Promise<ForgottenRows> {
  const { db, clock } = context;
  const quoted = JSON.stringify(riderRef);
  const written = { json: `"rider_ref":${quoted}`, quoted };
  const rows: Record<string, number> = {};
  const add = (table: string, n: number) => (rows[table] = (rows[table] ?? 0) + n);
  let left: readonly string[] = [];
  for (let run = 0; run < MAX_RUNS; run++) {
    add("reservations", await updateReservations(db, systemId, riderRef, new Date(clock())));
    for (const table of listJsonTables())
      add(table.table, await updateJson(db, systemId, table, [written.json, '"rider_ref":null']));
    add("webhook_attempts", await updateAnswers(db, systemId, quoted));
    add("request_log", await updateRequests(db, systemId, riderRef));
    left = await listTablesWith(db, systemId, riderRef, written);
    if (left.length === 0) break;
  }
  // The reference itself is not recorded: that would keep it.
  await db.transaction((tx) =>
    insertActOf(context, tx, { systemId, action: "rider.forgotten", subject: systemId, detail: rows }),
  );
  if (left.length > 0)
    throw new Error(
      `The reference is still in ${left.join(", ")}, where it may have been written meanwhile: run the command again.`,
    );
  return rows;
}
