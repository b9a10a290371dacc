import { once } from "node:events";
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { Agent, get, type IncomingMessage } from "node:http";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { insertMembership, insertPerson } from "../src/console/people/queries.ts";
import { startSession } from "../src/console/sessions/service.ts";
import { createSecretCipher } from "../src/webhooks/endpoints/secret.ts";
import { cpuMicroseconds, startServer } from "./processes.ts";
import { startService } from "./reading/service.ts";
import { dispatcherFor } from "./webhooks/ours.ts";
import { postgresTime } from "./webhooks/processor-time.ts";
import { enqueue, makeWorld, type World } from "./webhooks/world.ts";

/*
 * What open pages of the delivery log cost the process that they are open on: 500 streams of 100 partners, while nothing
 * happens and while 100 deliveries a second do, beside the same without any stream. `pnpm bench streams` runs it.
 */
const PARTNERS = 100;
const STREAMS_EACH = 5;
const SECONDS = Number(process.env["BENCH_SECONDS"] ?? 10);
/** Milliseconds after a change of what goes on, before it is measured: the first poll has no plan yet. */
const WARM_UP_MS = 2_000;

const directory = await mkdtemp(join(tmpdir(), "bikeshare-streams-"));
// As root PostgreSQL runs under another account, which must be able to enter.
await chmod(directory, 0o711);
const postgres = await openEmbeddedPostgres({ dataDir: join(directory, "data"), log: () => undefined });
const receiver = await startServer(join(import.meta.dirname, "webhooks/receiver.ts"), [String(PARTNERS)], {});
const { urls } = JSON.parse(receiver.firstLine) as { urls: string[] };
const cipher = createSecretCipher([{ id: 1, key: Buffer.alloc(32, 7) }]);
const world = await makeWorld(postgres.connectionString, cipher, urls);
const dispatcher = dispatcherFor(world, cipher);
// Without a worker: what sends is in this process, so that only the streams are measured.
const args = ["--role", "api", "--new-secrets"];
const service = await startService(postgres.connectionString, join(directory, "service"), { args });
const agent = new Agent({ keepAlive: false });
let received = 0;
try {
  process.stdout.write(`load before ${loadavg()[0]?.toFixed(2)}; ${SECONDS} s each\n`);
  process.stdout.write(
    "| streams | deliveries/s | events/s | service, of a core | PostgreSQL, of a core | resident MiB |\n|---|---|---|---|---|---|\n",
  );
  await measure(0, 0);
  await measure(0, PARTNERS);
  const cookies = await signInEverybody(world);
  const responses: IncomingMessage[] = [];
  for (const { path, cookie } of cookies)
    for (let n = 0; n < STREAMS_EACH; n++) responses.push(await open(path, cookie));
  const refused = responses.filter(({ statusCode }) => statusCode !== 200).length;
  if (refused > 0) throw new Error(`${refused} streams were refused`);
  await measure(responses.length, 0);
  await measure(responses.length, PARTNERS);
  const one = cookies[0];
  const beyond = one && (await open(one.path, one.cookie));
  process.stdout.write(`one more stream is answered with ${beyond?.statusCode}\n`);
} finally {
  agent.destroy();
  await service.stop();
  await dispatcher.close();
  await world.db.close();
  await receiver.stop();
  await postgres.close();
  await rm(directory, { recursive: true, force: true });
}

/** Measures the service and PostgreSQL while so many deliveries are made and sent each second. */
async function measure(streams: number, deliveriesPerSecond: number): Promise<void> {
  const until = performance.now() + WARM_UP_MS + SECONDS * 1_000;
  const happening = (async () => {
    while (performance.now() < until) {
      // One event for every endpoint.
      if (deliveriesPerSecond > 0) await enqueue(world, deliveriesPerSecond / PARTNERS);
      await sleep(1_000);
    }
  })();
  await sleep(WARM_UP_MS);
  const [cpu, database, events] = [await cpuMicroseconds(service.pid), await postgresTime(world.db), received];
  const from = performance.now();
  await sleep(until - from);
  const microseconds = (performance.now() - from) * 1_000;
  const share = (used: number) => `${((100 * used) / microseconds).toFixed(1)} %`;
  const [ours, theirs] = [(await cpuMicroseconds(service.pid)) - cpu, (await postgresTime(world.db)) - database];
  const perSecond = ((1e6 * (received - events)) / microseconds).toFixed(0);
  const memory = await residentMebibytes(service.pid);
  process.stdout.write(
    `| ${streams} | ${deliveriesPerSecond} | ${perSecond} | ${share(ours)} | ${share(theirs)} | ${memory} |\n`,
  );
  await happening;
}

/** A session of a person of each partner. */
async function signInEverybody({ db, ids, systemId }: World): Promise<{ path: string; cookie: string }[]> {
  const clock = () => Date.now();
  const partners = await db.query<{ partner_id: string }>({
    name: "",
    text: "select partner_id from webhook_endpoints",
  });
  return Promise.all(
    partners.map(async ({ partner_id: partnerId }) => {
      const [personId, id, createdAt] = [ids.next("person"), ids.next("membership"), new Date(clock())];
      const email = `${personId.toLowerCase()}@example.com`;
      await insertPerson(db, { id: personId, email, name: "Bench", created_at: createdAt }, null);
      await insertMembership(db, { id, systemId, personId, partnerId, role: "viewer", createdAt });
      const token = await startSession({ db, clock, ids }, personId, { address: "127.0.0.1", userAgent: "bench" });
      const path = `/console/v1/systems/${systemId}/partners/${partnerId}/live?topic=deliveries`;
      return { path, cookie: `bikeshare_session=${token}` };
    }),
  );
}

/** Opens a stream, whose events are counted. */
async function open(path: string, cookie: string): Promise<IncomingMessage> {
  const request = get(`${service.url}${path}`, { agent, headers: { cookie } });
  request.on("error", () => undefined);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.setEncoding("utf8").on("data", (text: string) => (received += text.split("event: deliveries").length - 1));
  response.on("error", () => undefined);
  return response;
}

async function residentMebibytes(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return (Number(/VmRSS:\s+(\d+)/.exec(text)?.[1]) / 1024).toFixed(0);
}
