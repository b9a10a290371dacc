import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createTestClock } from "@bikeshare/test-kit";
import { describe, expect, it } from "vitest";
import { verify } from "../src/webhooks.ts";
import { ready, useListenHarness } from "./cli-listen.harness.ts";
import { KEY, type Received, reply, run, type Run, until } from "./cli.harness.ts";

const harness = useListenHarness();

function listen(...args: string[]): Run {
  return harness().listen(["--forward-to", `${harness().receiver.url}/hooks`, "--json", ...args]);
}

describe("listen", () => {
  it("delivers new events, signed with the secret that it shows, in the service's own format", async () => {
    harness().happen(3);
    const begun = listen("--concurrency", "1");
    const { secret, since, forward_to } = await ready(begun);
    expect([since, forward_to]).toEqual(["event_00002", `${harness().receiver.url}/hooks`]);
    expect(secret).toMatch(/^whsec_[\w-]{43}$/);
    harness().happen(2);
    await until(() => begun.lines().length === 3);
    for (const [n, { method, headers, body, url }] of harness().receiver.received.entries()) {
      const header = headers["service-signature"];
      const delivery = await verify(body, header, String(secret), { now: begun.clock });
      expect(delivery).toEqual({
        event: "ride.completed",
        delivery_id: `delivery_0000${n + 3}listen`,
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
    expect(begun.stderr()).toBe("");
    expect(begun.lines().slice(1)).toMatchObject([
      { event_id: "event_00003", attempt: 1, status: 200, retry_in_ms: null },
      { event_id: "event_00004", attempt: 1, status: 200, retry_in_ms: null },
      { ended: true, delivered: 2, failed: 0, since: "event_00004" },
    ]);
    expect(begun.stdout() + begun.stderr()).not.toContain(KEY);
  });

  it("polls every three seconds, so that two thirds of the key's requests are left", async () => {
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
    harness().happen(400, { minutes: -60 });
    harness().happen(100, { minutes: -30 });
    harness().happen(500, { minutes: -5 });
    listen("--since", since, "--concurrency", "1");
    await until(() => harness().receiver.received.length > 0);
    expect(harness().numbers()[0]).toBe(first);
  });

  it.each([
    ["one name", "station.offline", "station.offline"],
    ["several names", "station.offline,station.online", null],
  ])("skips events that are not in --events: %s", async (_what, names, asked) => {
    const begun = listen("--events", names, "--since", "oldest");
    await ready(begun);
    harness().happen(2);
    harness().happen(1, { event: "station.offline" });
    harness().happen(1);
    await until(() => harness().receiver.received.length === 1);
    expect(harness().bodies()).toMatchObject([{ event: "station.offline" }]);
    expect(harness().service.received.at(-1)?.url.searchParams.get("event")).toBe(asked);
  });

  it("retries a failed delivery under the same delivery_id, while others continue, and gives up in the end", async () => {
    harness().answer = ({ body }) => (body.includes("_00001") ? { status: 500, body: "no \u001b[31mroom" } : {});
    harness().happen(3);
    const begun = listen("--since", "oldest");
    await until(() => begun.lines().length === 1 + 2 + 8);
    expect(
      harness()
        .numbers()
        .toSorted((a, b) => a - b),
    ).toEqual([0, 1, 1, 1, 1, 1, 1, 1, 1, 2]);
    const tries = begun.lines().filter((line) => line["event_id"] === "event_00001");
    expect(tries.map((line) => line["retry_in_ms"])).toEqual([1000, 2000, 4000, 8000, 15_000, 30_000, 60_000, null]);
    expect(tries[0]).toMatchObject({ status: 500, reason: "no \ufffd[31mroom", attempt: 1 });
    begun.stop();
    await begun.ended;
    expect(begun.lines().at(-1)).toEqual({ ended: true, delivered: 2, failed: 1, since: "event_00002" });
  });

  it("a redirect is not a success, and is not followed", async () => {
    harness().answer = () => ({ status: 307, headers: { location: `${harness().receiver.url}/elsewhere` } });
    harness().happen(1);
    const begun = listen("--since", "oldest");
    await until(() => begun.lines().length > 1);
    expect(begun.lines()[1]).toMatchObject({ status: 307, retry_in_ms: 1000 });
    expect(harness().receiver.received.every(({ url }) => url.pathname === "/hooks")).toBe(true);
  });

  it("waits for a receiver that does not listen yet, and loses nothing", async () => {
    await harness().receiver.close();
    harness().happen(3);
    const begun = listen("--since", "oldest", "--concurrency", "1");
    await until(() => begun.stderr() !== "" && begun.waits.includes(10_000));
    await harness().receiver.listen();
    await until(() => harness().receiver.received.length === 3);
    expect(harness().numbers()).toEqual([0, 1, 2]);
    expect(begun.stderr().match(/Nothing listens at/g)).toHaveLength(1);
    expect(Math.max(...begun.waits)).toBe(10_000);
  });

  it("waits for a service that is down, and continues where it stopped: nothing twice, nothing left out", async () => {
    harness().happen(2);
    const begun = listen("--since", "oldest", "--concurrency", "1");
    await until(() => harness().receiver.received.length === 2);
    await harness().service.close();
    await until(() => begun.stderr().includes("The service does not respond; retrying"));
    harness().happen(2);
    await harness().service.listen();
    await until(() => harness().receiver.received.length === 4);
    expect(harness().numbers()).toEqual([0, 1, 2, 3]);
    await until(() => begun.stderr().includes("The service responds again."));
  });

  it.each([
    ["a key without the scope", reply({ error: "forbidden", message: "Not yours." }, 403), "403 forbidden: Not yours."],
    ["a key that is unknown", reply({ error: "unauthorized", message: "Unknown." }, 401), "401 unauthorized: Unknown."],
  ])("ends with 1 for %s: a retry does not help", async (_what, response, words) => {
    const begun = listen();
    await ready(begun);
    harness().outage = response;
    expect(await begun.ended).toBe(1);
    expect(begun.stderr()).toContain(words);
  });

  it("ends with 1 when the event to begin after is no longer kept", async () => {
    harness().happen(1);
    harness().outage = undefined;
    const begun = listen("--since", "event_gone");
    expect(await begun.ended).toBe(1);
    expect(begun.stderr()).toContain("is no longer kept");
  });

  it("signs with a secret from a file or the environment, and shows it nowhere", async () => {
    harness().happen(1);
    const files = { "/run/secret": "whsec_mine\n" };
    const ways: [string[], Record<string, string>][] = [
      [["--secret-file", "/run/secret"], {}],
      [[], { BIKESHARE_WEBHOOK_SECRET: "whsec_mine" }],
    ];
    for (const [n, [args, env]] of ways.entries()) {
      const target = ["--forward-to", harness().receiver.url, "--json"];
      const begun = harness().listen([...target, "--since", "oldest", ...args], { files }, env);
      await until(() => harness().receiver.received.length === n + 1);
      const { body, headers } = harness().receiver.received[n] as Received;
      const now = createTestClock();
      expect(await verify(body, headers["service-signature"], "whsec_mine", { now })).toMatchObject({ data: { n: 0 } });
      begun.stop();
      expect(await begun.ended).toBe(0);
      expect(begun.stdout() + begun.stderr()).not.toContain("whsec_");
      expect(await ready(begun)).toMatchObject({ secret: null });
    }
  });
});

describe("the target of deliveries", () => {
  const refusedWith = async (...args: string[]) => {
    const env = { BIKESHARE_BASE_URL: harness().service.url, BIKESHARE_API_KEY: KEY };
    const { ended, stderr } = run(["listen", ...args], env);
    expect([await ended, harness().service.received]).toEqual([2, []]);
    return stderr();
  };

  it.each([
    "https://hooks.example/",
    "http://10.0.0.1:4000/",
    "http://localhost.example",
    "http://127.0.0.1.example/",
    "http://[::2]/",
    "http://2130706434.example",
  ])("is not another machine without --allow-remote: %s", async (url) => {
    expect(await refusedWith("--forward-to", url)).toContain("is not this machine: give --allow-remote");
  });

  it.each(["", "localhost:4000", "ftp://localhost/", "http://me:secret@localhost/", "nonsense"])(
    "is not anything but an http URL: %s",
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
  ])("may be this machine: %s", async (url) => {
    expect(await refusedWith("--forward-to", url, "--interval", "0")).toContain("--interval must be");
  });

  it("rejects events that are delivered but not listed, and unknown ones", async () => {
    const target = ["--forward-to", "http://localhost:1"];
    expect(await refusedWith(...target, "--events", "station.updated")).toContain("is not in the list of events");
    expect(await refusedWith(...target, "--events", "ride.ended")).toContain('"ride.ended" is not an event');
    expect(await refusedWith(...target, "--secret", "whsec_mine")).toContain("'--secret'");
    expect(await refusedWith(...target, "--secret-file", "/none")).toContain("--secret-file: ");
  });

  it.each(["0", "100", "1.5", "all"])("rejects a concurrency of %s", async (n) => {
    const target = ["--forward-to", "http://localhost:1"];
    expect(await refusedWith(...target, "--concurrency", n)).toContain("--concurrency must be");
  });
});

it("as a process, SIGTERM ends it with 0 and prints how to continue", async () => {
  harness().happen(1);
  const main = join(import.meta.dirname, "../src/cli/main.ts");
  const args = [
    "--conditions=@bikeshare/source",
    main,
    "listen",
    "--forward-to",
    harness().receiver.url,
    "--since",
    "oldest",
  ];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, BIKESHARE_BASE_URL: harness().service.url, BIKESHARE_API_KEY: KEY },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const said: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => said.push(line));
  const ended = once(child, "close");
  await until(() => said.some((line) => line.includes("event_00000")));
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
  expect(said.at(-1)).toBe("1 delivered, 0 failed. Continue with --since event_00000");
});
