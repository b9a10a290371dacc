import { once } from "node:events";
import { Agent, get, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { cpuMicroseconds, memoryMiB, startReceiver } from "@bikeshare/load";
import { postgresMicroseconds } from "./postgres-time.ts";
import { describeMachine, onPostgres, say, serve } from "./processes.ts";
import { makePerson, signIn } from "./provision.ts";
import { dispatcherFor } from "./webhooks/ours.ts";
import { CIPHER, enqueue, makeWorld, type World } from "./webhooks/world.ts";

/*
 * Measures what open pages of the delivery log cost the API process: 500 event streams of 100 partners, without deliveries
 * and with 100 deliveries a second, compared with no streams. `pnpm bench streams` runs it.
 */
const PARTNERS = 100;
const STREAMS_EACH = 5;
const SECONDS = Number(process.env["BENCH_SECONDS"] ?? 10);
/** Milliseconds after each change of the load that are not measured, because the first poll has no query plan yet. */
const WARM_UP_MS = 2_000;

/** What is measured: a service, and the system whose deliveries its pages show. */
interface Stage {
  readonly world: World;
  readonly service: { readonly url: string; readonly pid: number };
}

const agent = new Agent({ keepAlive: false });
/** The events that all streams have received. */
let received = 0;

await onPostgres(async ({ directory, connectionString }) => {
  const receiver = await startReceiver({ origins: PARTNERS });
  const world = await makeWorld(connectionString, CIPHER, receiver.urls);
  const dispatcher = dispatcherFor(world, CIPHER);
  // No worker in the service: this process sends the deliveries, so that only the streams are measured.
  const env = { DATABASE_URL: connectionString, DATA_DIR: join(directory, "service") };
  const service = await serve(env, ["--role", "api", "--new-secrets"]);
  const stage = { world, service };
  try {
    say(`${describeMachine()}; ${SECONDS} s each`);
    say("| streams | deliveries/s | events/s | service, of a core | PostgreSQL, of a core | resident MiB |");
    say("|---|---|---|---|---|---|");
    await measure(stage, 0, 0);
    await measure(stage, 0, PARTNERS);
    const responses: IncomingMessage[] = [];
    const urls = await signInEverybody(stage);
    for (const { url, cookie } of urls) for (let n = 0; n < STREAMS_EACH; n++) responses.push(await open(url, cookie));
    const refused = responses.filter(({ statusCode }) => statusCode !== 200).length;
    if (refused > 0) throw new Error(`${refused} streams were refused`);
    await measure(stage, responses.length, 0);
    await measure(stage, responses.length, PARTNERS);
    const [one] = urls;
    const beyond = one && (await open(one.url, one.cookie));
    say(`one more stream is answered with ${beyond?.statusCode}`);
  } finally {
    agent.destroy();
    await service.stop();
    await dispatcher.close();
    await world.db.close();
    await receiver.close();
  }
});

/** Measures the service and PostgreSQL while `deliveriesPerSecond` are created and sent. */
async function measure({ world, service }: Stage, streams: number, deliveriesPerSecond: number): Promise<void> {
  const until = performance.now() + WARM_UP_MS + SECONDS * 1_000;
  const happening = (async () => {
    while (performance.now() < until) {
      // Each event makes a delivery for every endpoint.
      if (deliveriesPerSecond > 0) await enqueue(world, deliveriesPerSecond / PARTNERS);
      await sleep(1_000);
    }
  })();
  await sleep(WARM_UP_MS);
  const [cpu, database, events] = [await cpuMicroseconds(service.pid), await postgresMicroseconds(world.db), received];
  const from = performance.now();
  await sleep(until - from);
  const microseconds = (performance.now() - from) * 1_000;
  const share = (used: number) => `${((100 * used) / microseconds).toFixed(1)} %`;
  const ours = share((await cpuMicroseconds(service.pid)) - cpu);
  const theirs = share((await postgresMicroseconds(world.db)) - database);
  const perSecond = ((1e6 * (received - events)) / microseconds).toFixed(0);
  const memory = (await memoryMiB(service.pid)).toFixed(0);
  say(`| ${streams} | ${deliveriesPerSecond} | ${perSecond} | ${ours} | ${theirs} | ${memory} |`);
  await happening;
}

/** Begins a session for a person of each partner. */
async function signInEverybody({ world, service }: Stage): Promise<{ url: string; cookie: string }[]> {
  const { db, ids, systemId } = world;
  const context = { db, ids, clock: () => Date.now() };
  const text = "select partner_id from webhook_endpoints";
  const partners = await db.query<{ partner_id: string }>({ name: "", text });
  return Promise.all(
    partners.map(async ({ partner_id: partnerId }) => ({
      url: `${service.url}/console/v1/systems/${systemId}/partners/${partnerId}/live?topic=deliveries`,
      cookie: await signIn(context, await makePerson(context, [partnerId])),
    })),
  );
}

/** Opens a stream, and counts its events. */
async function open(url: string, cookie: string): Promise<IncomingMessage> {
  const request = get(url, { agent, headers: { cookie } });
  request.on("error", () => undefined);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.setEncoding("utf8").on("data", (text: string) => (received += text.split("event: deliveries").length - 1));
  response.on("error", () => undefined);
  return response;
}
