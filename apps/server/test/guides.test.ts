import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type EndpointMetadata, operatorContract } from "@bikeshare/contract";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTestApp, type TestApp } from "./app.ts";
import { buildAnother } from "./built-app.ts";
import { report } from "./guides/report.ts";

/** A command of a guide, with the response that the guide shows below it. */
interface Example {
  readonly command: string;
  readonly answer: unknown;
}

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

const curl = await promisify(execFile)("curl", ["--version"]).then(
  () => true,
  () => false,
);

function guide(name: string): string {
  return readFileSync(join(import.meta.dirname, "../../../docs", name), "utf8");
}

/**
 * Returns the commands of a guide with their responses. `prelude` has the commands without a response, such as definitions
 * of shell functions.
 */
function examplesIn(text: string): { readonly prelude: string; readonly examples: readonly Example[] } {
  const blocks = [...text.matchAll(/```sh\n(.*?)```(?:\n\n```json\n(.*?)```)?/gs)];
  const prelude = blocks.filter(([, , answer]) => answer === undefined).map(([, command]) => command);
  return {
    prelude: prelude.join("\n"),
    examples: blocks.flatMap(([, command = "", answer]) =>
      answer === undefined ? [] : [{ command, answer: withAnyText(JSON.parse(answer)) }],
    ),
  };
}

/**
 * Replaces values of a guide that are different in each run by matchers: "…" matches any string, a time matches any time.
 */
function withAnyText(value: unknown): unknown {
  if (value === "…") return expect.any(String);
  if (typeof value === "string" && INSTANT.test(value)) return expect.stringMatching(INSTANT);
  if (Array.isArray(value)) return value.map(withAnyText);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withAnyText(member)]));
}

let app: TestApp;
let env: Record<string, string>;
beforeEach(async () => {
  app = await startTestApp();
  const operator = await app.issue({ partnerId: null, scopes: [] });
  env = { BASE_URL: app.url, OPERATOR_KEY: operator.key, API_KEY: (await app.issue()).key };
});
afterEach(() => app.close());

async function run(command: string): Promise<Record<string, unknown>> {
  const { stdout } = await promisify(execFile)("sh", ["-c", command], { env: { ...process.env, ...env } });
  return JSON.parse(stdout) as Record<string, unknown>;
}

describe.skipIf(!curl)(`the commands of the guides${curl ? "" : " (skipped: there is no curl)"}`, () => {
  it("pasted as they stand, the operator's first and then the partner's, are answered as the guides show", async () => {
    // Uses the real time, as people do who paste the commands.
    const today = await buildAnother(app, { clock: () => Date.now() });
    env["BASE_URL"] = today.url;
    const operators = examplesIn(guide("operators-guide.md"));
    expect(operators.examples).toHaveLength(11);
    for (const { command, answer } of operators.examples) {
      expect(await run(`${operators.prelude}\n${command}`), command).toEqual(answer);
    }
    const bike: unknown = await (await app.get("/v1/bikes/bike-1")).json();
    expect(bike).toMatchObject({ station_id: "market", vehicle_state: "non_operational" });

    const { prelude, examples } = examplesIn(guide("reservations.md"));
    const [create, extend, cancel] = examples.map(({ command, answer }) => ({
      paste: () => run(`${prelude}\n${command}`),
      answer: answer as object,
    }));
    const created = await create?.paste();
    expect(created).toEqual(create?.answer);
    expect(minutesBetween(created?.["created_at"], created?.["expires_at"])).toBe(10);
    env["RESERVATION_ID"] = String(created?.["id"]);
    const extended = await extend?.paste();
    expect(extended).toMatchObject(extend?.answer ?? {});
    expect(minutesBetween(created?.["created_at"], extended?.["expires_at"])).toBe(25);
    expect(await cancel?.paste()).toMatchObject(cancel?.answer ?? {});
    await today.close();
  });
});

function minutesBetween(from: unknown, to: unknown): number {
  return (Date.parse(String(to)) - Date.parse(String(from))) / 60_000;
}

describe("the program of the operator's guide", () => {
  it("is the one that is compiled and run here", () => {
    const program = readFileSync(join(import.meta.dirname, "guides/report.ts"), "utf8");
    expect(guide("operators-guide.md")).toContain(`\`\`\`ts\n${program}\`\`\``);
  });

  it("reports, and fails with the service's words", async () => {
    const key = env["OPERATOR_KEY"] ?? "";
    const reported = await report(app.url, key, "stations", [{ id: "program", name: "Program", lat: 1, lon: 2 }]);
    expect(reported).toEqual([{ id: "program", outcome: "created", error: null, warning: null }]);
    await expect(report(app.url, key, "stations", [])).rejects.toThrow("invalid_parameter: ");
  });
});

it("the operator's guide names every path with what may fail there, as the contract has it", () => {
  const text = guide("operators-guide.md");
  interface Endpoint {
    readonly method: string;
    readonly path: string;
    readonly summary: string;
    readonly metadata: EndpointMetadata;
  }
  const endpoints = Object.values(operatorContract).flatMap((noun): Endpoint[] => Object.values(noun) as Endpoint[]);
  // Only POST: the endpoints of facts are documented elsewhere, field by field.
  const posts = endpoints.filter(({ method }) => method === "POST");
  expect(posts.length).toBeGreaterThanOrEqual(14);
  for (const { path, summary, metadata } of posts) {
    const codes = (metadata.itemErrors ?? metadata.conflicts ?? []).map((code) => `\`${code}\``).join(", ");
    expect(text).toContain(`| \`${path.replace("/operator/v1/", "")}\` | ${summary} | ${codes} |`);
  }
});
