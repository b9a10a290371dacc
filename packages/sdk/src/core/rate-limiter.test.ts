import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonResponse, script, simulate, simulatedClient, type Simulation } from "../../test/simulation.ts";
import type { RateLimitDetails } from "../hooks.ts";

fc.configureGlobal({ seed: 1 });

/** Returns a limiter that counts like the service: at most `limit` in any 60 s; rejected requests do not count. */
function limiter(now: () => number, limit: number) {
  const counted: number[] = [];
  return {
    take(): { readonly headers: Record<string, string>; readonly allowed: boolean } {
      while (counted.length > 0 && counted[0]! <= now() - 60_000) counted.shift();
      const allowed = counted.length < limit;
      if (allowed) counted.push(now());
      const reset = counted.length === 0 ? 0 : Math.ceil((counted[0]! + 60_000 - now()) / 1000);
      const headers = {
        "ratelimit-policy": `"default";q=${limit};w=60`,
        ratelimit: `"default";r=${limit - counted.length};t=${reset}`,
      };
      return { allowed, headers: allowed ? headers : { ...headers, "retry-after": String(reset) } };
    },
  };
}

/** Returns a service with `pages` pages of one item. `latency` delays each request, and each response. */
function service(pages: number, limit = 60, latency: () => number = () => 20) {
  const simulation: Simulation = simulate(
    script(async ({ url }) => {
      await simulation.sleep(latency());
      if (url.pathname === "/healthz") return jsonResponse({ status: "ok" });
      const { allowed, headers } = limits.take();
      if (!allowed) refused.push(simulation.now());
      await simulation.sleep(latency());
      if (!allowed) return jsonResponse({ error: "rate_limited", message: "Wait." }, 429, headers);
      const number = Number(url.searchParams.get("cursor") ?? 1);
      const next = number < pages ? { next_cursor: String(number + 1) } : {};
      const counted = number === 1 ? { page: 1, total_pages: pages } : {};
      return jsonResponse({ data: [{ id: `item-${number}` }], ...counted, ...next }, 200, headers);
    }),
  );
  const limits = limiter(simulation.now, limit);
  /** The times at which the service rejected a request. */
  const refused: number[] = [];
  return { simulation, limits, refused };
}

async function count(list: AsyncIterable<unknown>): Promise<number> {
  const items: unknown[] = [];
  for await (const item of list) items.push(item);
  return items.length;
}

describe("the rate limiter of a client", () => {
  it("reads 1,000 pages at 60 a minute without a 429, in the time that the limit requires", async () => {
    const { simulation, refused } = service(1000);
    const client = simulatedClient(simulation);
    expect(await simulation.run(count(client.rides.list()))).toBe(1000);
    expect(refused).toEqual([]);
    // 1,000 requests at 60 a minute need 16 whole windows, and 40 requests of the next.
    expect(simulation.now()).toBeGreaterThan(16 * 60_000);
    expect(simulation.now()).toBeLessThan(17.2 * 60_000);
  });

  it("is shared by all iterations of a client, whatever the network's delays", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 80 }),
        fc.integer({ min: 2, max: 8 }),
        fc.array(fc.integer({ min: 0, max: 4000 }), { minLength: 1, maxLength: 20 }),
        async (limit, walks, delays) => {
          let turn = 0;
          const { simulation, refused } = service(30, limit, () => delays[turn++ % delays.length]!);
          const client = simulatedClient(simulation, { totalTimeoutMs: Infinity });
          const first = await simulation.run(client.me.get().then(() => undefined));
          expect(first).toBeUndefined();
          const all = Array.from({ length: walks }, () => count(client.rides.list()));
          expect(await simulation.run(Promise.all(all))).toEqual(all.map(() => 30));
          expect(refused).toEqual([]);
        },
      ),
      { numRuns: randomRuns(20) },
    );
  });

  it("learns a key's own limit from the first response, and is faster when it is higher", async () => {
    const { simulation, refused } = service(500, 600);
    await simulation.run(count(simulatedClient(simulation).rides.list()));
    expect(refused).toEqual([]);
    expect(simulation.now()).toBe(500 * 40);
  });

  it("respects others' requests with the same key", async () => {
    const { simulation, limits, refused } = service(200);
    const others = (async () => {
      for (let n = 0; n < 40; n++) {
        limits.take();
        await simulation.sleep(4000);
      }
    })();
    const client = simulatedClient(simulation);
    expect(await simulation.run(count(client.rides.list()))).toBe(200);
    await simulation.run(others);
    expect(refused).toEqual([]);
  });

  it("sends a single request to learn what others have left, once one must have been given back", async () => {
    const { simulation, limits, refused } = service(1, 4);
    const client = simulatedClient(simulation);
    limits.take();
    await simulation.run(simulation.sleep(30_000));
    limits.take();
    limits.take();
    await simulation.run(client.me.get().then(() => undefined));
    const calls = Array.from({ length: 3 }, () => client.me.get().then(() => simulation.now()));
    const answered = await simulation.run(Promise.all(calls));
    expect(refused).toEqual([]);
    // The first requests of other clients leave the window at 60 s, the rest at 90 s.
    expect(answered.map((at) => Math.floor(at / 30_000) * 30)).toEqual([60, 90, 90]);
  });

  it("calls onRateLimit for each wait, and only then", async () => {
    const { simulation } = service(61);
    const notes: RateLimitDetails[] = [];
    const client = simulatedClient(simulation, { onRateLimit: (note) => void notes.push(note) });
    await simulation.run(count(client.rides.list()));
    // The first of 60 requests was answered at 40 ms and leaves the window 60 s later. The last was answered at 2,400 ms.
    expect(notes).toEqual([{ operation: "GET /v1/rides", reason: "throttled", waitMs: 57_640 }]);
  });

  it("does not begin a wait that ends after the deadline", async () => {
    const { simulation } = service(61);
    const client = simulatedClient(simulation, { totalTimeoutMs: 30_000 });
    await expect(simulation.run(count(client.rides.list()))).rejects.toMatchObject({
      name: "TimeoutError",
      attempts: 0,
      message: "GET /v1/rides: the rate limit requires a wait of 57640 ms",
      retryAfterMs: 57_640,
    });
    expect(simulation.now()).toBe(60 * 40);
  });

  it("continues with the next call when a waiting one is aborted", async () => {
    const { simulation } = service(1000, 1);
    const client = simulatedClient(simulation);
    const controller = new AbortController();
    await simulation.run(client.me.get().then(() => undefined));
    const second = client.me.get({ signal: controller.signal }).catch((error: unknown) => error);
    const third = client.me.get().then(() => "answered");
    await simulation.run(simulation.sleep(10));
    controller.abort(new Error("no more"));
    expect(await simulation.run(second)).toEqual(new Error("no more"));
    expect(await simulation.run(third)).toBe("answered");
    expect(simulation.timers()).toBe(0);
  });

  it("has one timer for a call that waits, however many responses come meanwhile", async () => {
    const { simulation } = service(1000, 10);
    const client = simulatedClient(simulation, { timeoutMs: Infinity, totalTimeoutMs: Infinity });
    await simulation.run(client.me.get().then(() => undefined));
    const calls = Array.from({ length: 12 }, () => client.me.get().then(() => undefined));
    await simulation.run(simulation.sleep(1000));
    // 9 calls were sent and answered. 3 wait: each has a timer for its total timeout, and the first one for its turn.
    expect(simulation.timers()).toBe(1 + 3);
    await simulation.run(Promise.all(calls));
    expect(simulation.timers()).toBe(0);
  });

  it("does not delay calls that need no key", async () => {
    const { simulation } = service(1000, 1);
    const client = simulatedClient(simulation);
    await simulation.run(client.me.get().then(() => undefined));
    await simulation.run(client.health.live().then(() => undefined));
    expect(simulation.now()).toBe(60);
  });
});
