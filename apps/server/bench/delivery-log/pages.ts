import { join } from "node:path";
import { createHttpClient, median, percentile } from "@bikeshare/load";
import { serve } from "../processes.ts";
import { makePerson, openContext, signIn } from "../provision.ts";
import type { DeliveryLog } from "./data-set.ts";

/** The dashboard of a service on the data set, read by a viewer who is a member of both the operator and the partner. */
export interface MeasuredPages {
  /**
   * Measures a page. @returns a part of a Markdown table row: number of rows, median and 99th percentile in milliseconds
   * @param path below the system's path
   */
  measure(path: string): Promise<string>;
  close(): Promise<void>;
}

/** Requests that are not measured: the first ones load data into memory and prepare statements. */
const WARM_UP = 5;

export async function openPages(log: DeliveryLog, repetitions: number): Promise<MeasuredPages> {
  // No worker, because it would send the pending deliveries. New secrets, because nobody has those with which the endpoints
  // were created.
  const env = { DATABASE_URL: log.connectionString, DATA_DIR: join(log.directory, "service") };
  const service = await serve(env, ["--role", "api", "--new-secrets"]);
  const context = openContext(log.connectionString);
  const personId = await makePerson(context, [null, log.partnerId]);
  const client = createHttpClient(service.url, { connections: 1, timeoutMs: 60_000 });
  return {
    async measure(path) {
      const headers = { cookie: await signIn(context, personId) };
      const times: number[] = [];
      let rows = "";
      for (let n = -WARM_UP; n < repetitions; n++) {
        const answer = await client.ask({ path: `/console/v1/systems/${log.systemId}/${path}`, headers });
        if (answer.status !== 200) throw new Error(`${path} answered ${answer.outcome}: ${answer.body}`);
        if (n >= 0) times.push(answer.endedAt - answer.startedAt);
        if (n === 0) rows = describeRows(answer.body);
      }
      return `${rows} | ${median(times).toFixed(1)} | ${percentile(times, 0.99).toFixed(1)}`;
    },
    async close() {
      client.close();
      await context.db.close();
      await service.stop();
    },
  };
}

/** Describes how many rows a page has, and whether the search stopped before it had enough. */
function describeRows(text: string): string {
  const body = JSON.parse(text) as { readonly data?: readonly unknown[]; readonly searched_to?: string };
  return `${body.data?.length ?? ""}${body.searched_to === undefined ? "" : " (stopped)"}`;
}
