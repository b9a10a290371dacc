import { type BikeShare, BikeShare as Client } from "../src/client.ts";
import { PLATFORM, type Platform } from "../src/core/platform.ts";
import type { ClientOptions } from "../src/options.ts";

/** A platform with simulated time, which moves only when all code waits for a timer. */
export interface Simulation {
  readonly platform: Platform;
  /** Returns the simulated milliseconds since the beginning. */
  now(): number;
  /** Returns the number of running timers. */
  timers(): number;
  /** Waits in simulated time. */
  sleep(ms: number): Promise<void>;
  /** Moves the time until `work` is done, and returns its result. */
  run<Result>(work: PromiseLike<Result>): Promise<Result>;
}

/** Creates a simulation. @param random returns the platform's random numbers */
export function simulate(fetch: Platform["fetch"], random: () => number = () => 0.5): Simulation {
  let now = 0;
  let made = 0;
  const timers = new Map<number, { readonly at: number; readonly run: () => void }>();
  const setTimer = (run: () => void, ms: number) => {
    // As on real platforms, a delay of more than 31 bits fires at once.
    timers.set(++made, { at: now + (ms < 2 ** 31 ? Math.max(0, ms) : 1), run });
    return made;
  };
  /** Fires the timer that is due next. @returns false when there is none */
  const step = (): boolean => {
    const [next] = [...timers].sort(([a, one], [b, other]) => one.at - other.at || a - b);
    if (next === undefined) return false;
    const [id, { at, run }] = next;
    timers.delete(id);
    now = at;
    run();
    return true;
  };
  return {
    platform: {
      performance: { now: () => now },
      setTimeout: setTimer,
      clearTimeout: (id) => void timers.delete(id),
      Math: { random },
      crypto: { randomUUID: () => `uuid-${++made}` },
      fetch,
    },
    now: () => now,
    timers: () => timers.size,
    sleep: (ms) =>
      new Promise((resolve) => {
        setTimer(resolve, ms);
      }),
    run: async (awaited) => {
      let isDone = false;
      const work = Promise.resolve(awaited);
      void work.catch(() => undefined).finally(() => (isDone = true));
      for (;;) {
        // First, all code runs that does not wait for a timer.
        await new Promise<void>((resolve) => {
          setImmediate(resolve);
        });
        if (isDone) return work;
        if (!step()) throw new Error("everyone waits and no timer is running");
      }
    },
  };
}

/** The key that tests use. Nothing that a client shows may contain it. */
export const KEY = "bss_test_1234567890";

/** Returns a client on a simulated platform. */
export function simulatedClient(simulation: Simulation, options: Partial<ClientOptions> = {}): BikeShare {
  const all = { apiKey: KEY, baseUrl: "https://bikes.example", ...options, [PLATFORM]: simulation.platform };
  return new Client(all);
}

/** Returns a response in JSON. */
export function jsonResponse(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } });
}

/** Returns an error response of the service. */
export function errorResponse(status: number, error: string, headers: Record<string, string> = {}): Response {
  return jsonResponse({ error, message: `Why ${error}.` }, status, { "request-id": `req-${status}`, ...headers });
}

/** A request that a scripted fetch got. */
export interface Sent {
  readonly url: URL;
  readonly init: RequestInit;
  readonly headers: Headers;
}

/** A step of a scripted fetch: it returns the response, or throws the error. */
export type Scripted = Response | Error | ((sent: Sent) => Response | Error | Promise<Response>);

/** Returns a fetch that does one step for each request, and repeats the last step. */
export function script(...lines: readonly Scripted[]): Platform["fetch"] & { readonly sent: Sent[] } {
  const sent: Sent[] = [];
  const fetch = async (url: string, init: RequestInit) => {
    const request = { url: new URL(url), init, headers: new Headers(init.headers) };
    const line = lines[Math.min(sent.length, lines.length - 1)];
    sent.push(request);
    const outcome = typeof line === "function" ? await line(request) : line;
    if (outcome instanceof Response) return outcome.clone();
    if (outcome !== undefined) throw outcome;
    throw new Error("the script has no lines");
  };
  return Object.assign(fetch, { sent });
}

/** A step that never answers. It ends only when the request's signal aborts. */
export function hang({ init: { signal } }: Sent): Promise<Response> {
  return new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason as Error));
  });
}
