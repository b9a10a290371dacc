import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sandboxEvents, sandboxScenarios } from "../src/cli/sandbox-names.generated.ts";
import { sandboxNamesFile, sandboxNamesText } from "../tools/sandbox-names.ts";
import { KEY, type Received, reply, type Reply, run, startServer, type TestServer } from "./cli.harness.ts";

let service: TestServer;
let answer: (request: Received) => Reply;
let env: Record<string, string>;

beforeEach(async () => {
  answer = () =>
    reply({ event: "ride.completed", resource_id: "ride_1", station_id: "s", steps: ["ride_1 starts", "it ends"] });
  service = await startServer((request) => answer(request));
  env = { BIKESHARE_BASE_URL: service.url, BIKESHARE_API_KEY: KEY };
});
afterEach(() => service.close());

async function call(...args: string[]) {
  const { ended, stdout, stderr } = run(args, env);
  const status = await ended;
  expect(stdout() + stderr()).not.toMatch(/bss_\w{9,}/);
  return { status, stdout: stdout(), stderr: stderr() };
}

it("what it can trigger is what the contract has", () => {
  const advice = "run `pnpm --filter @bikeshare/sdk run generate`";
  expect(readFileSync(sandboxNamesFile, "utf8"), advice).toBe(sandboxNamesText());
});

it("causes an event, and says what happened", async () => {
  expect(await call("trigger", "ride.completed", "--station", "market")).toEqual({
    status: 0,
    stdout: "- ride_1 starts\n- it ends\nride.completed: ride_1\n",
    stderr: "",
  });
  const [{ method, url, body, headers }] = service.received as [Received];
  expect([method, url.pathname, JSON.parse(body)]).toEqual([
    "POST",
    "/sandbox/v1/events/ride.completed",
    { station_id: "market" },
  ]);
  expect(headers.authorization).toBe(`Bearer ${KEY}`);
});

it("prints the service's answer as JSON with --json", async () => {
  const { stdout } = await call("trigger", "ride.completed", "--json");
  expect(JSON.parse(stdout)).toMatchObject({ resource_id: "ride_1", steps: ["ride_1 starts", "it ends"] });
});

it("plays a scenario, and shows a key that it makes only as JSON", async () => {
  const key = "bss_test_made_by_it";
  answer = () => reply({ scenario: "key-expires", steps: ["key key_1 expires"], key });
  const { status, stdout, stderr } = await call("trigger", "key-expires");
  expect([status, stdout, stderr]).toEqual([0, "- key key_1 expires\n", "--json shows the key that was made.\n"]);
  expect(service.received[0]?.url.pathname).toBe("/sandbox/v1/scenarios/key-expires");
  const { ended, stdout: json } = run(["trigger", "key-expires", "--json"], env);
  expect([await ended, JSON.parse(json())]).toMatchObject([0, { key }]);
});

it("names every event and scenario in its help", async () => {
  const { stdout } = await call("trigger", "--help");
  for (const name of [...sandboxEvents, ...Object.keys(sandboxScenarios)]) expect(stdout).toContain(`  ${name}`);
  expect((await call("--help")).stdout).toContain("  trigger <event or scenario> ");
  expect(service.received).toEqual([]);
});

it("exits with 1 and the service's reason where the city lacks what an event needs", async () => {
  answer = () => reply({ error: "station_offline", message: "The station is offline." }, 409);
  expect(await call("trigger", "ride.started")).toMatchObject({
    status: 1,
    stdout: "",
    stderr: "409 station_offline: The station is offline. (request req-7)\n",
  });
  expect(service.received).toHaveLength(1);
});

describe("wrong usage exits with 2 and sends nothing:", () => {
  it.each([
    ["no name", ["trigger"], "`trigger` needs an event or scenario: `trigger <event or scenario>`"],
    ["an unknown name", ["trigger", "ride.flown"], "`bikeshare-sdk trigger --help` lists them"],
    ["a name of an object's", ["trigger", "constructor"], "`bikeshare-sdk trigger --help` lists them"],
    ["a station of a scenario", ["trigger", "rush-hour", "--station", "s"], "--station is of events"],
    ["two names", ["trigger", "ride.started", "ride.completed"], "too many arguments"],
  ])("%s", async (_what, args, reason) => {
    const { status, stdout, stderr } = await call(...args);
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(reason);
    expect(service.received).toEqual([]);
  });

  it("a live key", async () => {
    env = { ...env, BIKESHARE_API_KEY: "bss_live_0123456789" };
    const { status, stderr } = await call("trigger", "ride.completed");
    expect([status, stderr]).toEqual([2, "apiKey is a live key; the key of a sandbox begins with bss_test_\n"]);
    expect(service.received).toEqual([]);
  });
});
