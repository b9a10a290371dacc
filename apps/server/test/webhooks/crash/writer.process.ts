import { appendFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { recordEvents } from "../../../src/events/outbox.ts";
import { createIds } from "../../../src/ids.ts";
import { openDatabase } from "../../../src/storage/db/database.ts";

/*
 * Commits events without end, several in each transaction, and writes the ids of events with an acknowledged commit to a
 * file. Arguments: the database, the file, events per second.
 */
const [connectionString = "", file = "", perSecond = "20"] = process.argv.slice(2);
const BATCH = 4;
const db = openDatabase({ connectionString, maxConnections: 1, onConnectionLost: () => undefined });
const ids = createIds(() => Date.now());
const data = JSON.stringify({ id: "ride_1", text: "x".repeat(300) });
let stopped = false;
process.on("SIGTERM", () => (stopped = true));
process.stdout.write("writing\n");

while (!stopped) {
  const made: string[] = [];
  const noting = {
    ...ids,
    next: (prefix: string) => {
      const id = ids.next(prefix);
      made.push(id);
      return id;
    },
  };
  const now = new Date();
  const event = { name: "ride.completed" as const, occurredAt: now, partnerId: null, data };
  const events = Array.from({ length: BATCH }, () => event);
  const work = db.transaction((tx) => recordEvents(tx, { ids: noting, systemId: "main", now }, events));
  // If the database is lost, it is unknown whether the commit took place, so such events are not recorded.
  const isAcknowledged = await work.then(
    () => true,
    () => false,
  );
  if (isAcknowledged) await appendFile(file, `${made.join("\n")}\n`);
  await setTimeout(isAcknowledged ? (BATCH * 1000) / Number(perSecond) : 100);
}
await db.close();
