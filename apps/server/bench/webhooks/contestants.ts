import { Logger, makeWorkerUtils, run, runMigrations } from "graphile-worker";
import PgBoss from "pg-boss";
import { Agent, request } from "undici";
import { composeMessage } from "../../src/webhooks/dispatcher/attempt-runner.ts";
import { createSender } from "../../src/webhooks/sender/sender.ts";
import { LOOPBACK_RULES } from "../provision.ts";

/*
 * The senders that race.ts compares: the parts of the service, a bare loop, and two job queues. All POST the same bodies to
 * the same receivers.
 */

/** A program that POSTs signed deliveries. */
export interface Contestant {
  readonly name: string;
  /** Prepares a number of deliveries. */
  prepare(deliveries: number): Promise<void>;
  /** Sends the deliveries. Resolves when all are answered, or earlier: the receiver counts. */
  start(): Promise<{ stop(): Promise<void> }>;
}

/** A delivery for a contestant other than the service. */
export interface Job {
  readonly url: string;
  readonly event: string;
  readonly delivery_id: string;
  readonly occurred_at: string;
  readonly data: string;
}

/** The receivers to which a contestant sends its deliveries, the secret that signs them, and their data. */
export interface Targets {
  readonly urls: readonly string[];
  readonly secret: string;
  readonly data: string;
}

/** A logger without output: the default would print a line for each job. */
const quiet = new Logger(() => () => undefined);

/**
 * Concurrent POSTs of the two loops, and connections of undici to each receiver. The job queues begin the POSTs of a
 * whole batch at once. The service's dispatcher has at most 10 in flight for each endpoint.
 */
const CONCURRENCY = 100;
/** How many deliveries a worker of pg-boss fetches at once, and how many one job of graphile-worker has. */
const BATCH = 500;

/** Composes and signs a delivery's message, with the code of the service. */
function messageOf(job: Job, secret: string) {
  const row = { ...job, occurred_at: new Date(job.occurred_at) };
  const secrets = [{ text: secret, expiresAt: null }];
  return composeMessage({ row, secrets, sentAt: Date.now(), signature: "service" }, "bench");
}

/** POSTs one delivery. */
interface Poster {
  readonly post: (job: Job) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Signs and POSTs in the simplest way. */
function poster({ secret }: Targets): Poster {
  const agent = new Agent({ connections: CONCURRENCY, pipelining: 1 });
  const post = async (job: Job) => {
    const message = messageOf(job, secret);
    const answer = await request(job.url, {
      method: "POST",
      dispatcher: agent,
      headers: Object.fromEntries(message.headers),
      body: message.body,
    });
    await answer.body.dump();
    if (answer.statusCode >= 300) throw new Error(`answered ${answer.statusCode}`);
  };
  return { post, close: () => agent.close() };
}

/** Processes items, `CONCURRENCY` of them at a time. */
async function each<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  let next = 0;
  const processNext = async () => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await work(item);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, processNext));
}

/** Returns deliveries to all receivers in turn. */
function jobs(targets: Targets, n: number): Job[] {
  return Array.from({ length: n }, (_, i) => ({
    url: targets.urls[i % targets.urls.length] ?? "",
    event: "ride.completed",
    delivery_id: `delivery_${String(i).padStart(28, "0")}`,
    occurred_at: new Date().toISOString(),
    data: targets.data,
  }));
}

/** Sends deliveries from memory, without a database. */
function loop(name: string, targets: Targets, open: () => Poster): Contestant {
  let ready: Job[] = [];
  return {
    name,
    async prepare(n) {
      ready = jobs(targets, n);
    },
    async start() {
      const { post, close } = open();
      await each(ready, post);
      return { stop: close };
    },
  };
}

/** Measures signing and POSTing with undici alone, as the standard for the others. */
export function bareLoop(targets: Targets): Contestant {
  return loop("bare undici", targets, () => poster(targets));
}

/** Measures the service's sender alone, with its address checks and response limits. */
export function senderAlone(targets: Targets): Contestant {
  return loop("our sender alone", targets, () => {
    const sender = createSender({ rules: LOOPBACK_RULES });
    const post = async (job: Job) => {
      const { headers, body } = messageOf(job, targets.secret);
      const { outcome, failure } = await sender.send({ url: job.url, headers, body });
      if (outcome !== "succeeded") throw new Error(`${outcome} ${failure}`);
    };
    return { post, close: () => sender.close() };
  });
}

/** Measures the job queue pg-boss: each delivery is a job. */
export function pgBoss(targets: Targets, connectionString: string): Contestant {
  const options = { connectionString, max: 12, supervise: false, schedule: false };
  return {
    name: "pg-boss 11",
    async prepare(n) {
      const boss = await new PgBoss(options).start();
      await boss.createQueue("hooks");
      const all = jobs(targets, n);
      for (let i = 0; i < n; i += 5000) {
        await boss.insert(
          "hooks",
          all.slice(i, i + 5000).map((data) => ({ name: "hooks", data })),
        );
      }
      await boss.stop({ graceful: false });
    },
    async start() {
      const { post, close } = poster(targets);
      const boss = await new PgBoss(options).start();
      const work = async (batch: readonly { readonly data: Job }[]) => {
        await Promise.all(batch.map(({ data }) => post(data)));
      };
      // A worker of pg-boss takes its next batch only after half a second. Ten workers are enough that this delays nothing.
      for (let worker = 0; worker < 10; worker++) {
        await boss.work("hooks", { batchSize: BATCH, pollingIntervalSeconds: 0.5 }, work);
      }
      return {
        stop: async () => {
          await boss.stop({ graceful: true, timeout: 5_000 });
          await close();
        },
      };
    },
  };
}

/** Measures the job queue graphile-worker: each job has up to `BATCH` deliveries. */
export function graphileWorker(targets: Targets, connectionString: string): Contestant {
  return {
    name: "graphile-worker 0.18",
    async prepare(n) {
      await runMigrations({ connectionString });
      const tools = await makeWorkerUtils({ connectionString });
      const all = jobs(targets, n);
      for (let i = 0; i < n; i += BATCH) await tools.addJob("hooks", all.slice(i, i + BATCH));
      await tools.release();
    },
    async start() {
      const { post, close } = poster(targets);
      const runner = await run({
        connectionString,
        logger: quiet,
        concurrency: 2,
        pollInterval: 100,
        noHandleSignals: true,
        taskList: {
          // The batch form of graphile-worker: the payload of a job is a list.
          hooks: async (payload) => {
            await Promise.all((payload as Job[]).map(post));
          },
        },
      });
      return {
        stop: async () => {
          await runner.stop();
          await close();
        },
      };
    },
  };
}
