import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Asked, problemsOf } from "./answer-rules.ts";
import { exchange } from "./exchange.ts";
import { type FuzzRequest, fuzzRequests } from "./fuzz-requests.ts";
import { type FuzzWorld, openFuzzWorld } from "./fuzz-world.ts";
import { identityNames } from "./identities.ts";
import { collectIds } from "./seen-ids.ts";

/*
 * Requests to every endpoint, drawn from the contract: valid, nearly valid and hostile, from every kind of caller. A failure
 * prints the smallest request that still fails, and the seed. `pnpm bench fuzz` sends a hundred thousand.
 */

const REQUESTS = randomRuns(500);
/** Whether the test prints its progress. */
const isLong = REQUESTS > 1_000;
/** Most milliseconds that a response may take. On a busy machine a third of a second is usual. */
const MAX_ANSWER_MS = 20_000;

let world: FuzzWorld;
const seenIds = collectIds();
/** The host name in the service's own base URL. */
const HOST = "127.0.0.1";
/** How often each status was returned. */
const statuses = new Map<number, number>();
const reachedEndpoints = new Set<string>();
let slowest = { ms: 0, request: "" };

beforeAll(async () => {
  world = await openFuzzWorld();
});
afterAll(() => world.close());

it("answers whatever is sent as the contract says, to whoever it may, and never fails", async () => {
  let sent = 0;
  const property = fc.asyncProperty(fuzzRequests(world.known, identityNames), async (request) => {
    const problems = await send(request);
    if (problems.length > 0)
      throw new Error(`${problems.join("; ")}\n${bytesOf(request, {}).toString("latin1", 0, 2_000)}`);
    if (++sent % 10_000 === 0 && isLong) process.stdout.write(`${sent} requests answered as they should be\n`);
  });
  await fc.assert(property, { numRuns: REQUESTS, endOnFailure: false });
  // Ignores log lines with `peer`: the service logs an error about forwarded requests, because they point to a wrong
  // configuration.
  const failed = world.service.logged.filter(({ level, peer }) => Number(level) >= 50 && peer === undefined);
  expect(failed).toEqual([]);
  expect(await world.broken()).toEqual([]);
  expect(slowest).toMatchObject({ ms: expect.toSatisfy((ms: number) => ms < MAX_ANSWER_MS) as number });
  report();
}, 3_600_000);

/** Sends a request. @returns what is wrong with the response */
async function send(request: FuzzRequest): Promise<string[]> {
  const identity = await world.identity(request.identity);
  const { port } = new URL(world.service.url);
  const isHead = request.method === "HEAD";
  const bytes = bytesOf({ ...request, target: seenIds.fillIn(request.target) }, identity.headers);
  const answer = await exchange(Number(port), bytes, isHead);
  if (answer === undefined) return ["the connection was ended without an answer"];
  const reached = world.routeOf(answer.headers.get("request-id") ?? "");
  if (answer.status === 401 && (identity.key ?? identity.person) !== undefined) world.renewIdentities();
  if (answer.status < 300 && reached !== undefined) noteIds(reached.route.path, answer.body);
  const asked: Asked = { isHead, identity, reached };
  note(request, answer.status, answer.ms, reached && `${reached.route.method} ${reached.route.path}`);
  return problemsOf(answer, asked).map(
    (problem) => `${answer.status}: ${problem}\n${answer.body?.toString().slice(0, 500)}`,
  );
}

function noteIds(path: string, body: Buffer | undefined): void {
  const text = body?.toString() ?? "";
  if (text.startsWith("{")) seenIds.note(path, JSON.parse(text));
}

function note({ method, target }: FuzzRequest, status: number, ms: number, path: string | undefined): void {
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
  if (path !== undefined && status < 400) reachedEndpoints.add(path);
  if (ms > slowest.ms) slowest = { ms, request: `${method} ${target.slice(0, 200)}` };
}

function bytesOf({ method, target, headers, body }: FuzzRequest, own: Readonly<Record<string, string>>): Buffer {
  const given = new Set(headers.map(([name]) => name.toLowerCase()));
  const host = given.has("host") ? [] : [["Host", HOST]];
  const length = body === undefined || given.has("content-length") ? [] : [["Content-Length", String(body.length)]];
  const all = [
    ...host,
    ...Object.entries(own).map(([name, value]) => [name, name === "origin" ? `http://${HOST}` : value]),
    ...headers,
    ...length,
    ["Connection", "close"],
  ];
  const lines = all.map(([name, value]) => `${name}: ${value}`);
  return Buffer.from([`${method} ${target} HTTP/1.1`, ...lines, "", body ?? ""].join("\r\n"), "latin1");
}

/** Prints a summary of a long run. */
function report(): void {
  if (!isLong) return;
  const counts = [...statuses].toSorted(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
  process.stdout.write(
    `${REQUESTS} requests with seed ${fc.readConfigureGlobal().seed}: ${counts.join(", ")}; ${reachedEndpoints.size} endpoints answered with success; ` +
      `the slowest took ${Math.round(slowest.ms)} ms: ${slowest.request}\n`,
  );
}
