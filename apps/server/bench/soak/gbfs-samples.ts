import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { Ajv, type ValidateFunction } from "ajv";
import addFormats from "ajv-formats";
import type { Findings } from "./findings.ts";

/** Milliseconds between two samples. */
const PAUSE_MS = 5_000;

/** Fetches the public feeds now and then and holds them against the official schemas. @returns how many were valid */
export async function sampleFeeds(
  base: string,
  schemas: string,
  findings: Findings,
  signal: AbortSignal,
): Promise<number> {
  if (!existsSync(schemas)) return 0;
  const validators = new Map<string, ValidateFunction>();
  let valid = 0;
  while (!signal.aborted) {
    await setTimeout(PAUSE_MS, undefined, { signal }).catch(() => undefined);
    for (const feed of [
      "gbfs",
      "system_information",
      "vehicle_types",
      "station_information",
      "station_status",
      "free_bike_status",
    ]) {
      const document = await fetchFeed(`${base}/gbfs/2.3/${feed}.json`);
      if (document === undefined) continue;
      const validate = validators.get(feed) ?? (await compile(join(schemas, "v2.3", `${feed}.json`)));
      validators.set(feed, validate);
      if (validate(document)) valid++;
      else findings.expect(false, () => `${feed}.json: ${JSON.stringify(validate.errors?.slice(0, 3))}`);
    }
  }
  return valid;
}

/** Undefined while the service is down, or where it has no such feed. */
async function fetchFeed(url: string): Promise<unknown> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
    return response.status === 200 ? await response.json() : undefined;
  } catch {
    return undefined;
  }
}

async function compile(file: string): Promise<ValidateFunction> {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  return ajv.compile(JSON.parse(await readFile(file, "utf8")) as object);
}
