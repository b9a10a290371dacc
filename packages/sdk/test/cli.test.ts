import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { routes } from "../src/routes.generated.ts";
import { endpointsFile, endpointsText } from "../tools/endpoints.ts";
import { KEY, type TestServer, type Received, reply, type Reply, run, startServer } from "./cli.harness.ts";

let service: TestServer;
let answer: (request: Received) => Reply;
let env: Record<string, string>;

beforeEach(async () => {
  answer = () => reply({ data: [], page: 1, total_pages: 1 });
  service = await startServer((request) => answer(request));
  env = { BIKESHARE_BASE_URL: service.url, BIKESHARE_API_KEY: KEY };
});
afterEach(() => service.close());

/** Runs a command to its end. */
async function call(...args: string[]) {
  const { ended, stdout, stderr } = run(args, env);
  const status = await ended;
  expect(stdout() + stderr()).not.toContain(KEY);
  return { status, stdout: stdout(), stderr: stderr() };
}

const lastUrl = () => service.received.at(-1)?.url;

it("its commands are the contract's", () => {
  expect(readFileSync(endpointsFile, "utf8"), "run `pnpm --filter @bikeshare/sdk run generate`").toBe(endpointsText());
});

/** Returns the command for an endpoint's name: `vehicle-types list` for `vehicleTypes list`. */
const commandOf = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

it("has a command for every endpoint that needs a key, each with its help", async () => {
  const { stdout } = await call("--help");
  const names = Object.entries(routes)
    .filter(([noun]) => noun !== "health")
    .flatMap(([noun, verbs]) =>
      Object.keys(verbs).map((verb) => (noun === "me" ? noun : commandOf(`${noun} ${verb}`))),
    );
  for (const name of [...names, "listen"]) {
    expect(stdout).toContain(`  ${name} `);
    const help = await call(...name.split(" "), "--help");
    expect(help).toMatchObject({ status: 0, stderr: "" });
    expect(help.stdout).toContain(`Usage: bikeshare-sdk ${name}`);
  }
  expect(service.received).toEqual([]);
});

describe("a list", () => {
  const rides = Array.from({ length: 5 }, (_, n) => ({ id: `ride-${n}`, status: "completed", bike_id: "b", data: 1 }));

  it("is requested with the given filters and the key, and printed as a table", async () => {
    answer = () => reply({ data: rides.slice(0, 2), page: 1, total_pages: 1 });
    const { status, stdout, stderr } = await call("rides", "list", "--station", "market", "--started-after", "x+y");
    expect([status, stderr]).toEqual([0, ""]);
    expect(Object.fromEntries(lastUrl()?.searchParams ?? [])).toEqual({
      station_id: "market",
      started_after: "x+y",
      limit: "50",
    });
    expect(service.received[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(stdout.split("\n")).toEqual([
      "id      status     bike_id  start_station_id  end_station_id  started_at  duration_seconds",
      "ride-0  completed  b",
      "ride-1  completed  b",
      "",
    ]);
  });

  it("is one JSON object with --json, with a checkpoint from which another call continues", async () => {
    answer = ({ url }) => {
      const cursor = url.searchParams.get("cursor");
      return cursor === null
        ? reply({ data: rides.slice(0, 3), page: 1, total_pages: 2, next_cursor: "c" })
        : reply({ data: rides.slice(3) });
    };
    const first = await call("rides", "list", "--limit", "2", "--json");
    const { data, checkpoint } = JSON.parse(first.stdout) as { data: unknown[]; checkpoint: string };
    expect(data).toEqual(rides.slice(0, 2));
    expect(first.stderr).toContain("There may be more");
    const rest = await call("rides", "list", "--all", "--from", checkpoint, "--json");
    expect(JSON.parse(rest.stdout)).toEqual({ data: rides.slice(2) });
  });

  it("prints no control characters", async () => {
    answer = () => reply({ data: [{ id: "s", name: "Ring\u001b[2J\u0007\u009b1m\u202e" }], page: 1, total_pages: 1 });
    const { stdout } = await call("stations", "list");
    // oxlint-disable-next-line no-control-regex -- these are what must not be there
    expect(stdout.replaceAll("\n", "")).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
  });
});

it("sends the given fields, numbers as numbers, and an idempotency key", async () => {
  answer = () => reply({ id: "reservation-1", status: "active" }, 201);
  const args = ["reservations", "create", "--station", "market", "--hold-minutes", "5", "--rider-ref", "r-1"];
  expect(await call(...args)).toMatchObject({ status: 0, stdout: "id      reservation-1\nstatus  active\n" });
  const [{ method, body, headers }] = service.received as [Received];
  expect([method, JSON.parse(body)]).toEqual(["POST", { station_id: "market", hold_minutes: 5, rider_ref: "r-1" }]);
  expect(headers["idempotency-key"]).toMatch(/./);
  expect(await call("reservations", "create", "--hold-minutes", "x")).toMatchObject({ status: 2 });
});

it.each([
  ["stations get a/b", "GET /v1/stations/a%2Fb"],
  ["rides get r", "GET /v1/rides/r"],
  ["bikes get b", "GET /v1/bikes/b"],
  ["events get e", "GET /v1/events/e"],
  ["reservations get r", "GET /v1/reservations/r"],
  ["reservations extend r --hold-minutes 5", "PATCH /v1/reservations/r"],
  ["reservations cancel r", "DELETE /v1/reservations/r"],
  ["me", "GET /v1/me"],
])("%s requests %s", async (words, operation) => {
  answer = () => reply({ id: "x" });
  expect(await call(...words.split(" "), "--json")).toEqual({ status: 0, stdout: '{"id":"x"}\n', stderr: "" });
  expect(service.received.map(({ method, url }) => `${method} ${url.pathname}`)).toEqual([operation]);
});

it("exits with 1 and the service's message when the service answers with an error", async () => {
  answer = () => reply({ error: "not_found", message: "There is no such ride." }, 404);
  expect(await call("rides", "get", "x")).toEqual({
    status: 1,
    stdout: "",
    stderr: "404 not_found: There is no such ride. (request req-7)\n",
  });
});

describe("wrong usage exits with 2 and sends nothing:", () => {
  it.each([
    ["an unknown command", ["bike", "list"], "unknown command"],
    ["an unknown option", ["rides", "list", "--stations", "x"], "Unknown option '--stations'"],
    ["another command's option", ["rides", "list", "--rider-ref", "x"], "`rides list` has no option --rider-ref"],
    ["no id", ["rides", "get"], "`rides get` needs an id"],
    ["an id too many", ["me", "x"], "too many arguments for `me`"],
    ["half an option", ["rides", "list", "--station"], "argument missing"],
    ["both --limit and --all", ["rides", "list", "--limit", "1", "--all"], "not both"],
    ["a limit of nothing", ["rides", "list", "--limit", "0"], "--limit must be"],
    ["an empty checkpoint", ["rides", "list", "--from", ""], "checkpoint"],
    ["a key in an option", ["me", `--api-key=${KEY}`], "every user of this machine can read"],
    ["a key in an option of another name", ["me", "--key", KEY], "every user of this machine can read"],
    ["a key file that is not there", ["me", "--api-key-file", "/none"], "--api-key-file: there is no /none"],
    ["an address that is not safe", ["me", "--base-url", "http://bikes.example"], "baseUrl must be https:// or"],
    ["the key as the address", ["me", "--base-url", KEY], "baseUrl must be https:// or"],
  ])("%s", async (_what, args, reason) => {
    const { status, stdout, stderr } = await call(...args);
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(reason);
    expect(service.received).toEqual([]);
  });

  it.each(["BIKESHARE_BASE_URL", "BIKESHARE_API_KEY"])("no %s", async (name) => {
    env = { ...env, [name]: "" };
    const { status, stderr } = await call("me");
    expect(status).toBe(2);
    expect(stderr).toContain(`set ${name}`);
  });
});

it("reads the key from a file, and the URL from an option", async () => {
  answer = () => reply({ key_id: "k" });
  const files = { "/run/key": `${KEY}\n` };
  const { ended } = run(["me", "--base-url", service.url, "--api-key-file", "/run/key"], {}, { files });
  expect(await ended).toBe(0);
  expect(service.received[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
});

describe("as a process", () => {
  const main = join(import.meta.dirname, "../src/cli/main.ts");
  const start = (...args: string[]) =>
    promisify(execFile)(process.execPath, ["--conditions=@bikeshare/source", main, ...args], {
      env: { ...process.env, ...env },
    });

  it("prints its result on stdout, and its reason on stderr with the status of the failure", async () => {
    answer = ({ url }) =>
      url.pathname === "/v1/me" ? reply({ key_id: "k" }) : reply({ error: "e", message: "m" }, 404);
    expect(await start("me", "--json")).toMatchObject({ stdout: '{"key_id":"k"}\n', stderr: "" });
    await expect(start("rides", "get", "x")).rejects.toMatchObject({ code: 1, stdout: "" });
    await expect(start("rides")).rejects.toMatchObject({ code: 2, stdout: "" });
  });
});
