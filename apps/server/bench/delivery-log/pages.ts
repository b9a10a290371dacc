import { Agent, get } from "node:http";
import { join } from "node:path";
import type { CommandContext } from "../../src/command-context.ts";
import { insertMembership, insertPerson } from "../../src/console/people/queries.ts";
import { startSession } from "../../src/console/sessions/service.ts";
import { createIds } from "../../src/ids.ts";
import { median } from "../reading/measure.ts";
import { startService } from "../reading/service.ts";
import type { DeliveryLog } from "./data-set.ts";

/** The console of a service on the data set, as a viewer reads it who works for the operator and for the partner. */
export interface MeasuredPages {
  /** @returns rows, median and 99th percentile of a page's milliseconds, between bars. @param path below the system's */
  measure(path: string): Promise<string>;
  close(): Promise<void>;
}

/** Requests before those that count: the first read what is not in memory yet, and prepare statements. */
const WARM_UP = 5;

export async function openPages(log: DeliveryLog, repetitions: number): Promise<MeasuredPages> {
  // Without a worker, which would send what waits. The endpoints were made with secrets that nobody has.
  const dataDir = join(log.directory, "service");
  const service = await startService(log.connectionString, dataDir, { args: ["--role", "api", "--new-secrets"] });
  const clock = () => Date.now();
  const context = { db: log.db, clock, ids: createIds(clock) };
  const personId = await makePerson(context, log);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    async measure(path) {
      // A session of its own, because each has a rate limit.
      const token = await startSession(context, personId, { address: "127.0.0.1", userAgent: "bench" });
      const cookie = `bikeshare_session=${token}`;
      const url = `${service.url}/console/v1/systems/${log.systemId}/${path}`;
      const times: number[] = [];
      let rows = "";
      for (let n = -WARM_UP; n < repetitions; n++) {
        const from = performance.now();
        const text = await read(url, cookie, agent);
        if (n >= 0) times.push(performance.now() - from);
        if (n === 0) rows = describeRows(text);
      }
      const sorted = times.toSorted((a, b) => a - b);
      const worst = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? Number.NaN;
      return `${rows} | ${median(times).toFixed(1)} | ${worst.toFixed(1)}`;
    },
    close() {
      agent.destroy();
      return service.stop();
    },
  };
}

/** Makes somebody who may read the pages of the operator and of the partner. */
export async function makePerson(
  { db, clock, ids }: CommandContext,
  { systemId, partnerId }: Pick<DeliveryLog, "systemId" | "partnerId">,
): Promise<string> {
  const [personId, now] = [ids.next("person"), new Date(clock())];
  const email = `${personId.toLowerCase()}@example.com`;
  const proof = { by: "operator", systemId: null } as const;
  await insertPerson(db, { id: personId, email, name: "Bench", created_at: now }, proof);
  for (const whose of [null, partnerId]) {
    const id = ids.next("membership");
    await insertMembership(db, { id, systemId, personId, partnerId: whose, role: "viewer", createdAt: now });
  }
  return personId;
}

function read(url: string, cookie: string, agent: Agent): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const request = get(url, { headers: { cookie }, agent }, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (part: string) => (text += part));
    response.once("end", () => {
      if (response.statusCode === 200) resolve(text);
      else reject(new Error(`${url} answered ${response.statusCode}: ${text}`));
    });
  });
  request.once("error", reject);
  return promise;
}

function describeRows(text: string): string {
  const body = JSON.parse(text) as { readonly data?: readonly unknown[]; readonly searched_to?: string };
  return `${body.data?.length ?? ""}${body.searched_to === undefined ? "" : " (stopped)"}`;
}
