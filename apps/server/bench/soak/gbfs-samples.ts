import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createHttpClient } from "@bikeshare/load";
import { Ajv, type ValidateFunction } from "ajv";
import addFormats from "ajv-formats";

const SCHEMAS =
  process.env["BIKESHARE_GBFS_SCHEMAS"] ?? join(import.meta.dirname, "../../../../../shared/data/gbfs-json-schema");
const SAMPLE_INTERVAL_MS = 5_000;
const FEEDS = [
  ...["gbfs", "system_information", "vehicle_types"],
  ...["station_information", "station_status", "free_bike_status"],
];

/** Reads the public feeds now and then and holds them against the official schemas, where these are at hand. */
export async function sampleFeeds(base: string, signal: AbortSignal) {
  const failures: string[] = [];
  let valid = 0;
  if (!existsSync(SCHEMAS)) return { valid, failures };
  const validators = new Map<string, ValidateFunction>();
  const client = createHttpClient(base, { connections: 1 });
  while (!signal.aborted) {
    await setTimeout(SAMPLE_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    for (const feed of FEEDS) {
      const { status, body } = await client.ask({ path: `/gbfs/2.3/${feed}.json` });
      // The service is down, or has no such feed.
      if (status !== 200) continue;
      const validate = validators.get(feed) ?? (await compile(join(SCHEMAS, "v2.3", `${feed}.json`)));
      validators.set(feed, validate);
      if (validate(JSON.parse(body))) valid++;
      else failures.push(`${feed}.json: ${JSON.stringify(validate.errors?.slice(0, 3))}`);
    }
  }
  client.close();
  return { valid, failures };
}

async function compile(file: string): Promise<ValidateFunction> {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  return ajv.compile(JSON.parse(await readFile(file, "utf8")) as object);
}
