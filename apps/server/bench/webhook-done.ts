import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { createIds } from "../src/ids.ts";
import { openDatabase } from "../src/storage/db/database.ts";
import { listDeliveries } from "../src/webhooks/log/deliveries.ts";
import { redeliver } from "../src/webhooks/log/resend.ts";
import { checkDone } from "../test/webhooks/done/checks.ts";
import { serviceOn } from "../test/webhooks/done/service.ts";
import { type ServerProcess, startServer } from "./processes.ts";

/*
 * The service with its city at 60 times life, and a receiver that fails one request in three and is killed twice. Once
 * it is well again, everything must have arrived as logged. The retries keep their true times, so that the last ones may
 * need half an hour: `DONE_MINUTES=20` bounds the wait, `DONE_RETRY_NOW=1` asks for those that wait to be sent at once, as
 * `webhooks redeliver` does. `DONE_SECONDS=200` says how long the city rides.
 */
const SECONDS = Number(process.env["DONE_SECONDS"] ?? 200);
const MINUTES = Number(process.env["DONE_MINUTES"] ?? 20);
const RETRY_NOW = process.env["DONE_RETRY_NOW"] === "1";
const EVENTS = [
  ...["ride.started", "ride.completed", "ride.cancelled", "station.offline", "station.online"],
  ...["reservation.created", "reservation.cancelled", "reservation.expired", "reservation.fulfilled"],
];
const began = performance.now();

const directory = await mkdtemp(join(tmpdir(), "bikeshare-done-"));
// As root PostgreSQL runs under another account, which must be able to enter.
await chmod(directory, 0o711);
const dataDir = join(directory, "data");
const service = serviceOn(dataDir);
let receiver: ServerProcess | undefined;
let running: ServerProcess | undefined;
try {
  running = await service.start("start", "--speed", "60");
  const partner = await service.command<{ id: string }>("partners", "create", "Done");
  const scopes = "events:read,rides:read,stations:read,reservations:read";
  const { key } = await service.command<{ key: string }>("keys", "issue", "--partner", partner.id, "--scopes", scopes);
  await writeFile(join(directory, "failing"), "");
  const port = await startReceiver("0");
  const set = ["webhooks", "set", "--partner", partner.id, "--url", `http://127.0.0.1:${port}/hooks`];
  const made = await service.command<{ id: string; secret: string }>(...set, "--events", EVENTS.join(","));
  await writeFile(join(directory, "secret"), made.secret);
  const since = Date.now();
  say(`endpoint ${made.id}, receiver on port ${port}`);

  for (let kill = 1; kill <= 2; kill++) {
    await wait((SECONDS * 1000) / 3);
    await killReceiver();
    say("the receiver was killed");
    await wait(5_000);
    await startReceiver(port);
  }
  await wait((SECONDS * 1000) / 3);
  await running.stop();
  running = await service.start("serve");
  await rm(join(directory, "failing"));
  say("the city rests, the service was restarted, the receiver is well");

  await drain(partner.id);
  const listed = await listEvents((running as ServerProcess & { readonly url: string }).url, key);
  const explained = await explainAll(partner.id);
  const postgres = await openEmbeddedPostgres({ dataDir, log: () => undefined });
  const db = openDatabase({ connectionString: postgres.connectionString });
  const scope = { systemId: "main", endpointId: made.id, wanted: EVENTS, since };
  const { events, deliveries, attempts, ...failures } = await checkDone(db, scope, listed, join(directory, "receipts"));
  await db.close();
  await postgres.close();
  const all = { ...failures, notExplained: deliveries - explained };
  const isDone = Object.values(all).every((n) => n === 0) && deliveries > 0;
  process.stdout.write(
    `${isDone ? "HOLDS" : "BROKEN"}: ${events} events, ${deliveries} deliveries, ${attempts} attempts; ${JSON.stringify(all)}\n`,
  );
  process.exitCode = isDone ? 0 : 1;
} finally {
  await running?.stop();
  await receiver?.stop();
  await rm(directory, { recursive: true, force: true });
}

function say(text: string): void {
  process.stdout.write(`${Math.round((performance.now() - began) / 1000)} s: ${text}\n`);
}

/** @returns the port it listens on */
async function startReceiver(port: string): Promise<string> {
  const script = join(import.meta.dirname, "../test/webhooks/done/receiver.process.ts");
  receiver = await startServer(script, [port, directory], {});
  return receiver.firstLine;
}

async function killReceiver(): Promise<void> {
  if (receiver === undefined) return;
  process.kill(receiver.pid, "SIGKILL");
  await receiver.stop();
}

/** Waits until nothing is pending. */
async function drain(partnerId: string): Promise<void> {
  const postgres = await openEmbeddedPostgres({ dataDir, log: () => undefined });
  const db = openDatabase({ connectionString: postgres.connectionString });
  const clock = () => Date.now();
  const context = { db, clock, ids: createIds(clock), actor: "bench" };
  const scope = { systemId: "main", partnerId };
  const until = performance.now() + MINUTES * 60_000;
  for (let polls = 0; performance.now() < until; polls++) {
    const { deliveries: pending } = await listDeliveries(context, { ...scope, status: "pending", limit: 200 });
    if (pending.length === 0) break;
    const next = Math.min(...pending.flatMap(({ next_attempt_at: at }) => (at === null ? [] : [at.getTime()])));
    if (polls % 5 === 0) say(`${pending.length} pending, the next in ${Math.round((next - clock()) / 1000)} s`);
    if (RETRY_NOW) for (const { id } of pending) await redeliver(context, scope, id);
    await wait(3_000);
  }
  await db.close();
  await postgres.close();
}

/** Every event that the key may see, oldest first. */
async function listEvents(url: string, key: string) {
  const events: { id: string; event: string; occurred_at: string }[] = [];
  let cursor: string | undefined;
  do {
    const query = new URLSearchParams({ limit: "200", ...(cursor === undefined ? {} : { cursor }) });
    const answer = await fetch(`${url}/v1/events?${query.toString()}`, { headers: { authorization: `Bearer ${key}` } });
    if (!answer.ok) throw new Error(`GET /v1/events: ${answer.status} ${await answer.text()}`);
    const page = (await answer.json()) as { data: typeof events; next_cursor?: string };
    events.push(...page.data);
    cursor = page.next_cursor;
  } while (cursor !== undefined);
  return events;
}

/** Asks the command line for all deliveries. @returns how many it explains */
async function explainAll(partnerId: string): Promise<number> {
  const kinds = new Map<string, number>();
  let explained = 0;
  let after: string | null = null;
  do {
    const args = ["webhooks", "deliveries", "--partner", partnerId, "--limit", "200"];
    const page: { deliveries: { explanation: string }[]; next: string | null } = await service.command(
      ...args,
      ...(after === null ? [] : ["--after", after]),
    );
    for (const { explanation } of page.deliveries) {
      if (explanation !== "") explained++;
      const kind = explanation.replaceAll(/\d+/g, "#");
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    }
    after = page.next;
  } while (after !== null);
  for (const [kind, n] of [...kinds].toSorted(([, a], [, b]) => b - a).slice(0, 5)) say(`${n} times: ${kind}`);
  return explained;
}
