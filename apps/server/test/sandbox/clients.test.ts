import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { scopeNames } from "@bikeshare/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findPython } from "../../../../packages/sdk-python/test/python.ts";
import type { RetryDetails } from "../../../../packages/sdk/src/hooks.ts";
import { SandboxClient } from "../../../../packages/sdk/src/sandbox.ts";
import { validateResponse } from "../../../../packages/sdk/src/validate.ts";
import { expire } from "../../../../packages/sdk/test/readme/sandbox.ts";
import { report } from "../guides/report.ts";
import { type ServeHarness, startServe } from "./serve.harness.ts";

let service: ServeHarness;
let keys: { readonly live: string; readonly sandbox: string };
beforeAll(async () => {
  service = await startServe();
  const { partnerId, systemId } = await service.createSandbox();
  const { key: operator = "" } = await service.bikeshare("keys", "issue", "--operator");
  // The stations and bikes of the live system: a part of what a sandbox has, as many as the tests need.
  const stations = Array.from({ length: 40 }, (_, n) => ({
    ...{ id: `station-${n}`, name: `Station ${n}`, lat: 52 + n / 1000, lon: 13 },
  }));
  const bikes = Array.from({ length: 20 }, (_, n) => ({ id: `bike-${n}`, station_id: `station-${n}` }));
  await report(service.url, operator, "stations", stations);
  await report(service.url, operator, "bikes", bikes);
  const issue = async (...of: string[]) => {
    // A rate limit that no test reaches.
    const settings = ["--partner", partnerId, "--scopes", scopeNames.join(","), "--rate-limit", "6000"];
    return (await service.bikeshare(...of, "keys", "issue", ...settings))["key"] ?? "";
  };
  keys = { live: await issue(), sandbox: await issue("--system", systemId) };
});
afterAll(() => service.close());

describe("the client in TypeScript, on the faults of a sandbox", () => {
  const retries: RetryDetails[] = [];
  const open = (timeoutMs = 30_000) => {
    retries.length = 0;
    const onRetry = (retry: RetryDetails) => void retries.push(retry);
    return new SandboxClient({
      baseUrl: service.url,
      apiKey: keys.sandbox,
      validate: validateResponse,
      timeoutMs,
      onRetry,
    });
  };
  const statusesOf = () => retries.map(({ error }) => error.status);

  it.each([429, 500, 503] as const)("survives %i, and makes one reservation", async (status) => {
    const client = open();
    await client.sandbox.addFault({ status, route: "POST /v1/reservations", count: 1 });
    const rider_ref = `rider-${status}`;
    const [bike] = await client.bikes.list({ vehicle_state: "available" }).toArray({ limit: 1 });
    const held = await client.reservations.create({ bike_id: bike?.id, rider_ref });
    expect(statusesOf()).toEqual([status]);
    expect((await client.reservations.list({ rider_ref })).data).toEqual([held]);
    await client.sandbox.addFault({ status, route: "GET /v1/stations", count: 1 });
    expect(await client.stations.list({ limit: 15 }).toArray({ limit: Infinity })).toHaveLength(40);
    expect(statusesOf()).toEqual([status, status]);
    expect((await client.sandbox.endFaults()).faults).toEqual([]);
  });

  it("sends a request again that gets no answer", async () => {
    // Longer than a busy machine needs for the answer to the second attempt.
    const client = open(8_000);
    await client.sandbox.addFault({ status: "timeout", route: "GET /v1/regions", count: 1 });
    expect((await client.regions.list()).data).not.toEqual([]);
    expect(retries.map(({ error }) => error.name)).toEqual(["TimeoutError"]);
  });

  it("a reservation has expired when the clock that it advances is ready", async () => {
    const client = open();
    expect(await expire(client, "station-007")).toBe("expired");
    expect((await client.sandbox.clock()).advanced_seconds).toBeGreaterThanOrEqual(900);
  });

  it("a live key does not reach it, and the error says which key does", async () => {
    const client = new SandboxClient({ baseUrl: service.url, apiKey: () => keys.live });
    const trigger = async () => client.sandbox.trigger("ride.completed");
    await expect(trigger()).rejects.toMatchObject({ name: "ForbiddenError", attempts: 1 });
    await expect(trigger()).rejects.toThrow("bss_test_");
  });
});

const python = findPython();

describe.skipIf(python.missing !== undefined)(
  `the client in Python${python.missing === undefined ? "" : ` (skipped: ${python.missing})`}`,
  () => {
    it.each(["live", "sandbox"] as const)(
      "passes its tests of a service that runs, with the key: %s",
      async (kind) => {
        const { stdout } = await promisify(execFile)(
          String(python.path),
          ["-m", "pytest", "-q", "--tb=short", "service_tests"],
          {
            cwd: join(import.meta.dirname, "../../../../packages/sdk-python"),
            env: {
              ...process.env,
              BIKESHARE_BASE_URL: service.url,
              BIKESHARE_API_KEY: keys[kind],
              PYTHONDONTWRITEBYTECODE: "1",
            },
          },
        ).catch((error: unknown) => error as { stdout: string });
        const [, passed, skipped] = /^(\d+) passed, (\d+) skipped/m.exec(stdout) ?? [];
        // Tests of sandbox functions are skipped on live data, and the other way round.
        expect([Number(passed), Number(skipped)], stdout).toEqual(kind === "live" ? [12, 13] : [24, 1]);
      },
      180_000,
    );
  },
);
