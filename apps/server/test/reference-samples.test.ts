import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";
import {
  createGbfsOpenApiDocument,
  createOpenApiDocument,
  createOperatorOpenApiDocument,
} from "@bikeshare/contract/openapi";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestApp, type TestApp } from "./app.ts";
import { buildAnother, type BuiltApp } from "./built-app.ts";

/** The command that runs a sample, by language. */
const INTERPRETERS: Readonly<Record<string, readonly [command: string, ...args: string[]]>> = {
  sh: ["bash", "-c"],
  js: [process.execPath, "--input-type=module", "--eval"],
  python: ["python3", "-c"],
};
const isInstalled = (command: string) => spawnSync(command, ["--version"]).status === 0;
const hasTools = ["bash", "curl", "jq"].every(isInstalled);
const RIDES = 250;
const WINDOW_MS = 60_000;

let app: TestApp;
let service: BuiltApp;
/** Milliseconds by which the service's clock is ahead of the real clock, by which the programs wait. */
let aheadMs = 0;

beforeAll(async () => {
  app = await startTestApp();
  const baseUrl = () => service.url;
  service = await buildAnother(app, { clock: () => Date.now() + aheadMs, baseUrl });
  const { key } = await app.issue({ partnerId: null, scopes: [] });
  const items = Array.from({ length: RIDES }, (_, index) => ({
    id: `ride-${index}`,
    bike_id: "bike-1",
    started_at: new Date(1_700_000_000_000 + index * 600_000).toISOString(),
    ended_at: new Date(1_700_000_300_000 + index * 600_000).toISOString(),
  }));
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const filled = await fetch(`${service.url}/operator/v1/rides`, {
    method: "POST",
    headers,
    body: JSON.stringify({ items }),
  });
  expect(await filled.json()).toMatchObject({ failed: 0 });
});

afterAll(async () => {
  await service.close();
  await app.close();
});

interface Sample {
  readonly language: string;
  readonly program: string;
}

/** Returns the programs in the introduction of an OpenAPI document, from which the reference is generated. */
function samplesIn(create: typeof createOpenApiDocument): Sample[] {
  const { description } = create({ baseUrl: service.url, version: "0.0.0" }).info;
  return [...description.matchAll(/```(\w+)\n(.*?)\n```/gs)].map(([, language = "", program = ""]) => ({
    language,
    program,
  }));
}

/** Runs a program as a reader of the reference would. */
async function run({ language, program }: Sample, key: string) {
  const [command, ...args] = INTERPRETERS[language] ?? [];
  if (command === undefined) throw new Error(`nothing runs a sample in ${language}`);
  const env = { ...process.env, API_KEY: key, OPERATOR_KEY: key };
  return promisify(execFile)(command, [...args, program], { env }).then(
    ({ stdout }) => ({ status: 0, stdout, stderr: "" }),
    (error: unknown) => {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
      return { status: code, stdout, stderr };
    },
  );
}

describe.skipIf(!hasTools)(`the samples of the reference${hasTools ? "" : " (skipped: no bash, curl or jq)"}`, () => {
  const walks = () =>
    samplesIn(createOpenApiDocument).filter(
      ({ language, program }) => program.includes("/v1/rides") && isInstalled(INTERPRETERS[language]?.[0] ?? ""),
    );

  it("print every ride once, though the key's limit makes them wait in the middle", async () => {
    const keys = await Promise.all(walks().map(() => app.issue({ rateLimit: 2 })));
    // Each key may send two requests a minute. Sends one and advances the clock, so that the key may send one more within
    // two seconds.
    for (const { key } of keys) {
      const spent = await fetch(`${service.url}/v1/me`, { headers: { authorization: `Bearer ${key}` } });
      expect(spent.status).toBe(200);
    }
    aheadMs += WINDOW_MS - 2_000;
    const ran = await Promise.all(walks().map((sample, index) => run(sample, keys[index]?.key ?? "")));
    expect(ran.length).toBeGreaterThan(1);
    const all = Array.from({ length: RIDES }, (_, index) => `ride-${RIDES - 1 - index}`);
    for (const { status, stdout, stderr } of ran) {
      expect([status, stderr]).toEqual([0, ""]);
      expect(stdout.trim().split("\n").map(idOf)).toEqual(all);
    }
  });

  it("fail loudly, with a status and a message, where a page cannot be had", async () => {
    for (const { status, stdout, stderr } of await Promise.all(walks().map((sample) => run(sample, "bss_live_none")))) {
      expect([status, stdout]).toEqual([1, ""]);
      expect(stderr).toContain("401");
    }
  });

  it("of every document are answered with JSON", async () => {
    const partner = await app.issue();
    const operator = await app.issue({ partnerId: null, scopes: [] });
    for (const [create, key] of [
      [createOpenApiDocument, partner.key],
      [createOperatorOpenApiDocument, operator.key],
      [createGbfsOpenApiDocument, ""],
    ] as const) {
      const [first] = samplesIn(create);
      const { status, stdout } = await run(first ?? { language: "", program: "" }, key);
      expect(status).toBe(0);
      expect(JSON.parse(stdout)).not.toHaveProperty("error");
    }
    const languages = samplesIn(createOpenApiDocument).map(({ language }) => language);
    expect(languages).toEqual(["sh", "sh", "js", "python"]);
  });
});

function idOf(line: string): unknown {
  return (JSON.parse(line) as { id: unknown }).id;
}
