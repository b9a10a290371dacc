import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type EndpointMetadata, operatorContract } from "@bikeshare/contract";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTestApp, type TestApp } from "./app.ts";
import { reserve } from "./guides/reserve.ts";
import { tell } from "./guides/tell.ts";

/** A command of a guide, and the answer that the guide shows below it. */
interface Example {
  readonly command: string;
  readonly answer: unknown;
}

const curl = await promisify(execFile)("curl", ["--version"]).then(
  () => true,
  () => false,
);

function guide(name: string): string {
  return readFileSync(join(import.meta.dirname, "../../../docs", name), "utf8");
}

/** The commands of a guide with their answers, and before them what they need: the shell functions it defines. */
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

/** In a guide "…" stands for a text that is another each time. */
function withAnyText(value: unknown): unknown {
  if (value === "…") return expect.any(String);
  if (Array.isArray(value)) return value.map(withAnyText);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withAnyText(member)]));
}

let app: TestApp;
let env: Record<string, string>;
beforeEach(async () => {
  app = await startTestApp();
  const operator = await app.issue({ kind: "operator", partnerId: null, scopes: [] });
  env = { BASE_URL: app.url, OPERATOR_KEY: operator.key, API_KEY: (await app.issue()).key };
});
afterEach(() => app.close());

async function run(command: string): Promise<Record<string, unknown>> {
  const { stdout } = await promisify(execFile)("sh", ["-c", command], { env: { ...process.env, ...env } });
  return JSON.parse(stdout) as Record<string, unknown>;
}

describe.skipIf(!curl)(`the commands of the guides${curl ? "" : " (skipped: there is no curl)"}`, () => {
  it("of the operator's guide are answered as it shows", async () => {
    const { prelude, examples } = examplesIn(guide("operators-guide.md"));
    expect(examples).toHaveLength(10);
    for (const [index, { command, answer }] of examples.entries()) {
      // The city is described an hour before anybody rides.
      if (index === 2) app.clock.advance(3_600_000);
      expect(await run(`${prelude}\n${command}`)).toEqual(answer);
    }
    const bike: unknown = await (await app.get("/v1/bikes/bike-1")).json();
    expect(bike).toMatchObject({ station_id: "market", vehicle_state: "non_operational" });
  });

  it("of the guide to reservations are answered as it shows", async () => {
    const key = env["OPERATOR_KEY"] ?? "";
    app.clock.advance(3_600_000);
    await tell(app.url, key, "stations", [{ id: "harbour", name: "Harbour Street", lat: 54.5, lon: 3.5 }]);
    await tell(app.url, key, "bikes", [{ id: "bike-2", station_id: "harbour" }]);
    const [create, extend, cancel] = examplesIn(guide("reservations.md")).examples;
    const created = await run(create?.command ?? "");
    expect(created).toEqual(create?.answer);
    env["RESERVATION_ID"] = String(created["id"]);
    expect(await run(extend?.command ?? "")).toMatchObject(extend?.answer as object);
    expect(await run(cancel?.command ?? "")).toMatchObject(cancel?.answer as object);
  });
});

describe("the programs of the guides", () => {
  it("are the ones that are compiled and run here", () => {
    for (const [name, file] of [
      ["operators-guide.md", "tell.ts"],
      ["reservations.md", "reserve.ts"],
    ] as const) {
      const program = readFileSync(join(import.meta.dirname, "guides", file), "utf8");
      expect(guide(name)).toContain(`\`\`\`ts\n${program}\`\`\``);
    }
  });

  it("tell and reserve, and fail with the service's words", async () => {
    const key = env["OPERATOR_KEY"] ?? "";
    const told = await tell(app.url, key, "stations", [{ id: "program", name: "Program", lat: 1, lon: 2 }]);
    expect(told).toEqual([{ id: "program", outcome: "created", error: null }]);
    await expect(tell(app.url, key, "stations", [])).rejects.toThrow("invalid_parameter: ");
    expect(await reserve(app.url, env["API_KEY"] ?? "", "program", "r-1")).toBeUndefined();
    await tell(app.url, key, "bikes", [{ id: "program-bike", station_id: "program" }]);
    expect(await reserve(app.url, env["API_KEY"] ?? "", "program", "r-1")).toMatchObject({ bike_id: "program-bike" });
    await expect(reserve(app.url, env["API_KEY"] ?? "", "program", "r-1")).rejects.toThrow(
      "rider_has_active_reservation: ",
    );
  });
});

it("the operator's guide names every path with what may fail there, as the contract has it", () => {
  const text = guide("operators-guide.md");
  interface Endpoint {
    readonly path: string;
    readonly summary: string;
    readonly metadata: EndpointMetadata;
  }
  const endpoints = Object.values(operatorContract).flatMap((noun): Endpoint[] => Object.values(noun) as Endpoint[]);
  expect(endpoints).toHaveLength(11);
  for (const { path, summary, metadata } of endpoints) {
    const { itemErrors = [] } = metadata;
    const codes = itemErrors.map((code) => `\`${code}\``).join(", ");
    expect(text).toContain(`| \`${path.replace("/operator/v1/", "")}\` | ${summary} | ${codes} |`);
  }
});
