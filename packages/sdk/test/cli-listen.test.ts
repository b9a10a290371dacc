import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createTestClock } from "@bikeshare/test-kit";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { verify } from "../src/webhooks.ts";
import {
  KEY,
  type Listening,
  type Received,
  reply,
  type Reply,
  run,
  type Run,
  startServer,
  until,
} from "./cli-room.ts";

interface Event {
  readonly id: string;
  readonly event: string;
  readonly occurred_at: string;
  readonly data: unknown;
}

/** When the tests' clock begins. */
const NOON = Date.parse("2026-06-01T12:00:00.000Z");

let events: Event[];
let outage: Reply | undefined;
let service: Listening;
let receiver: Listening;
let answer: (request: Received) => Reply;
const runs = new Set<Run>();

beforeEach(async () => {
  events = [];
  outage = undefined;
  answer = () => ({});
  service = await startServer(({ url }) => outage ?? list(url));
  receiver = await startServer((request) => answer(request));
});
afterEach(async () => {
  for (const each of runs) {
    each.stop();
    await each.ended;
  }
  runs.clear();
  await service.close();
  await receiver.close().catch(() => undefined);
});

/** The list of events, as the service answers it. */
function list({ searchParams }: URL): Reply {
  const [after, name, cursor] = ["after", "event", "cursor"].map((parameter) => searchParams.get(parameter));
  const limit = Number(searchParams.get("limit") ?? 50);
  const known = events.findIndex(({ id }) => id === after);
  if (after && known === -1) return reply({ error: "invalid_parameter", message: "after names no event" }, 400);
  const seen = events.slice(known + 1).filter((each) => !name || each.event === name);
  const start = cursor ? Number(cursor) : (Number(searchParams.get("page") ?? 1) - 1) * limit;
  const next = start + limit < seen.length ? { next_cursor: String(start + limit) } : {};
  const numbers = { page: start / limit + 1, total_pages: Math.max(1, Math.ceil(seen.length / limit)) };
  return reply({ data: seen.slice(start, start + limit), ...(cursor ? next : { ...numbers, ...next }) });
}

/** Something happens: `minutes` from the beginning of the test's time. */
function happen(count: number, { event = "ride.completed", minutes = 0 } = {}): void {
  for (let n = 0; n < count; n++) {
    const occurred_at = new Date(NOON + minutes * 60_000).toISOString();
    events.push({ id: `event_${String(events.length).padStart(5, "0")}`, event, occurred_at, data: { n } });
  }
}

function listen(...args: string[]): Run {
  const env = { BIKESHARE_BASE_URL: service.url, BIKESHARE_API_KEY: KEY };
  const begun = run(["listen", "--forward-to", `${receiver.url}/hooks`, "--json", ...args], env);
  runs.add(begun);
  return begun;
}

async function ready(begun: Run): Promise<Readonly<Record<string, unknown>>> {
  await until(() => begun.lines().length > 0);
  return begun.lines()[0] ?? {};
}

const bodies = () => receiver.received.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
const numbers = () => bodies().map(({ delivery_id }) => Number(/_(\d+)-/.exec(String(delivery_id))?.[1]));

describe("listen", () => {
  it("delivers what happens from now on, signed with the secret that it shows, in the service's own form", async () => {
    happen(3);
    const begun = listen();
    const { secret, since, forward_to } = await ready(begun);
    expect([since, forward_to]).toEqual(["event_00002", `${receiver.url}/hooks`]);
    expect(secret).toMatch(/^whsec_[\w-]{43}$/);
    happen(2);
    await until(() => begun.lines().length === 3);
    for (const [n, { method, headers, body, url }] of receiver.received.entries()) {
      const header = headers["service-signature"];
      const delivery = await verify(body, header, String(secret), { now: begun.clock });
      expect(delivery).toEqual({
        event: "ride.completed",
        delivery_id: `delivery_0000${n + 3}-listen`,
        occurred_at: "2026-06-01T12:00:00.000Z",
        sent_at: expect.stringMatching(/^2026-06-01T12:/) as string,
        data: { n },
      });
      expect(Object.keys(delivery)).toEqual(["event", "delivery_id", "occurred_at", "sent_at", "data"]);
      expect([method, url.pathname, headers["content-type"]]).toEqual(["POST", "/hooks", "application/json"]);
      expect(headers.authorization).toBeUndefined();
    }
    begun.stop();
    expect(await begun.ended).toBe(0);
    expect(begun.stderr()).toBe("2 delivered, 0 given up. Go on with --since event_00004\n");
    expect(begun.lines().slice(1)).toMatchObject([
      { event_id: "event_00003", attempt: 1, status: 200, retry_in_ms: null },
      { event_id: "event_00004", attempt: 1, status: 200, retry_in_ms: null },
    ]);
    expect(begun.stdout() + begun.stderr()).not.toContain(KEY);
  });

  it("looks for new events every three seconds, so that two thirds of the key's requests are left", async () => {
    const begun = listen();
    await until(() => begun.waits.length > 3);
    expect(new Set(begun.waits)).toEqual(new Set([3_000]));
  });

  it.each([
    ["oldest", 0],
    ["event_00399", 400],
    ["10m", 500],
    ["45m", 400],
    ["2026-06-01T11:50:00Z", 500],
    ["1d", 0],
  ])("--since %s begins with event %i", async (since, first) => {
    happen(400, { minutes: -60 });
    happen(100, { minutes: -30 });
    happen(500, { minutes: -5 });
    listen("--since", since);
    await until(() => receiver.received.length > 0);
    expect(numbers()[0]).toBe(first);
  });

  it.each([
    ["one name", "station.offline", "station.offline"],
    ["several names", "station.offline,station.online", null],
  ])("passes over what is not in --events: %s", async (_what, names, asked) => {
    const begun = listen("--events", names, "--since", "oldest");
    await ready(begun);
    happen(2);
    happen(1, { event: "station.offline" });
    happen(1);
    await until(() => receiver.received.length === 1);
    expect(bodies()).toMatchObject([{ event: "station.offline" }]);
    expect(service.received.at(-1)?.url.searchParams.get("event")).toBe(asked);
  });

  it("tries again what was not taken, under the same delivery_id, while others go on, and gives up in the end", async () => {
    answer = ({ body }) => (body.includes("_00001") ? { status: 500, body: "no \u001b[31mroom" } : {});
    happen(3);
    const begun = listen("--since", "oldest", "--every", "0.5");
    await until(() => begun.lines().length === 1 + 2 + 8);
    expect(numbers().slice(0, 3)).toEqual([0, 1, 2]);
    expect(numbers().slice(3)).toEqual(Array.from({ length: 7 }, () => 1));
    const tries = begun.lines().filter((line) => line["event_id"] === "event_00001");
    expect(tries.map((line) => line["retry_in_ms"])).toEqual([1000, 2000, 4000, 8000, 15_000, 30_000, 60_000, null]);
    expect(tries[0]).toMatchObject({ status: 500, reason: "no \ufffd[31mroom", attempt: 1 });
    begun.stop();
    await begun.ended;
    expect(begun.stderr()).toBe("2 delivered, 1 given up. Go on with --since event_00002\n");
  });

  it("stopped before all was taken, says where to go on so that nothing is lost", async () => {
    answer = ({ body }) => ({ status: body.includes("_00001") ? 500 : 200 });
    happen(3);
    const begun = listen("--since", "oldest", "--every", "0.001");
    await until(() => receiver.received.length === 3);
    begun.stop();
    await begun.ended;
    expect(begun.stderr()).toContain("Go on with --since event_00000\n");
  });

  it("a redirect is no success, and is not followed", async () => {
    answer = () => ({ status: 307, headers: { location: `${receiver.url}/elsewhere` } });
    happen(1);
    const begun = listen("--since", "oldest");
    await until(() => begun.lines().length > 1);
    expect(begun.lines()[1]).toMatchObject({ status: 307, retry_in_ms: 1000 });
    expect(receiver.received.every(({ url }) => url.pathname === "/hooks")).toBe(true);
  });

  it("waits for a receiver that is not there yet, and loses nothing", async () => {
    await receiver.close();
    happen(3);
    const begun = listen("--since", "oldest");
    await until(() => begun.waits.length > 20);
    await receiver.listen();
    await until(() => receiver.received.length === 3);
    expect(numbers()).toEqual([0, 1, 2]);
    expect(begun.stderr().match(/Nobody listens at/g)).toHaveLength(1);
    expect(Math.max(...begun.waits)).toBe(10_000);
  });

  it("waits for a service that is away, and goes on where it stood: nothing twice, nothing left out", async () => {
    happen(2);
    const begun = listen("--since", "oldest");
    await until(() => receiver.received.length === 2);
    await service.close();
    await until(() => begun.stderr().includes("The service does not answer; trying again"));
    happen(2);
    await service.listen();
    await until(() => receiver.received.length === 4);
    expect(numbers()).toEqual([0, 1, 2, 3]);
    await until(() => begun.stderr().includes("The service answers again."));
  }, 40_000);

  it.each([
    ["a key without the scope", reply({ error: "forbidden", message: "Not yours." }, 403), "403 forbidden: Not yours."],
    ["a key that is unknown", reply({ error: "unauthorized", message: "Unknown." }, 401), "401 unauthorized: Unknown."],
  ])("ends with 1 for %s: time does not mend it", async (_what, refusal, words) => {
    const begun = listen();
    await ready(begun);
    outage = refusal;
    expect(await begun.ended).toBe(1);
    expect(begun.stderr()).toContain(words);
  });

  it("ends with 1 where the event to begin behind is no longer kept", async () => {
    happen(1);
    outage = undefined;
    const begun = listen("--since", "event_gone");
    expect(await begun.ended).toBe(1);
    expect(begun.stderr()).toContain("after names no event");
  });

  it("signs with a given secret", async () => {
    happen(1);
    listen("--since", "oldest", "--secret", "whsec_mine");
    await until(() => receiver.received.length === 1);
    const [{ body, headers }] = receiver.received as [Received];
    const now = createTestClock();
    expect(await verify(body, headers["service-signature"], "whsec_mine", { now })).toMatchObject({ data: { n: 0 } });
  });
});

describe("where deliveries go", () => {
  const refusedWith = async (...args: string[]) => {
    const env = { BIKESHARE_BASE_URL: service.url, BIKESHARE_API_KEY: KEY };
    const { ended, stderr } = run(["listen", ...args], env);
    expect([await ended, service.received]).toEqual([2, []]);
    return stderr();
  };

  it.each([
    "https://hooks.example/",
    "http://10.0.0.1:4000/",
    "http://localhost.example",
    "http://127.0.0.1.example/",
    "http://[::2]/",
    "http://2130706434.example",
  ])("not to another machine unless that is said: %s", async (url) => {
    expect(await refusedWith("--forward-to", url)).toContain("is not this machine: give --allow-remote");
  });

  it.each(["", "localhost:4000", "ftp://localhost/", "http://me:secret@localhost/", "nonsense"])(
    "not to what is no plain http URL: %s",
    async (url) => {
      expect(await refusedWith("--forward-to", url)).toContain("--forward-to");
    },
  );

  it.each([
    "http://localhost:4000/a?b=c",
    "http://app.localhost",
    "http://127.8.8.8",
    "http://[::1]:1",
    "http://0x7f.1",
  ])("to this machine: %s", async (url) => {
    expect(await refusedWith("--forward-to", url, "--every", "0")).toContain("--every must be");
  });

  it("refuses events that are only delivered and never listed, and those that there are not", async () => {
    const target = ["--forward-to", "http://localhost:1"];
    expect(await refusedWith(...target, "--events", "station.updated")).toContain("is not in the list of events");
    expect(await refusedWith(...target, "--events", "ride.ended")).toContain('"ride.ended" is no event');
    expect(await refusedWith(...target, "--secret", "")).toContain("the secret must not be empty");
  });
});

it("as a process, SIGTERM ends it with 0 and the place to go on", async () => {
  happen(1);
  const main = join(import.meta.dirname, "../src/cli/main.ts");
  const args = ["--conditions=@bikeshare/source", main, "listen", "--forward-to", receiver.url, "--since", "oldest"];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, BIKESHARE_BASE_URL: service.url, BIKESHARE_API_KEY: KEY },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said: string[] = [];
  const delivered: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => said.push(line));
  createInterface({ input: child.stdout }).on("line", (line) => delivered.push(line));
  const ended = once(child, "close");
  await until(() => delivered.some((line) => line.includes("event_00000")));
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
  expect(said).toEqual(["1 delivered, 0 given up. Go on with --since event_00000"]);
});
