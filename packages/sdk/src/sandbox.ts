import { BikeShare } from "./client.ts";
import type { ApiPromise } from "./core/api-promise.ts";
import { createApi } from "./core/api.ts";
import { sleep, withTimeout } from "./core/platform.ts";
import { TimeoutError, UsageError } from "./errors/errors.ts";
import { type ClientOptions, readOptions, type RequestOptions, withOptions } from "./options.ts";
import { sandboxRoutes } from "./sandbox-routes.generated.ts";
import type {
  SandboxClock,
  SandboxClockRequest,
  SandboxEvent,
  SandboxEventName,
  SandboxEventRequest,
  SandboxFaultRequest,
  SandboxFaults,
  SandboxReset,
  SandboxScenario,
  SandboxScenarioName,
  SandboxStatus,
  SandboxWebhookFaults,
} from "./sandbox-types.generated.ts";

export type * from "./sandbox-types.generated.ts";

/**
 * The first and the longest delay between two requests for the clock; each is twice the previous one. Too low: uses up the
 * sandbox's rate limit of 600 requests a minute.
 */
const FIRST_DELAY_MS = 50;
const MAX_DELAY_MS = 1_000;

/**
 * Controls a sandbox from a test. These calls have their own rate limit. `trigger`, `scenario`, `advance` and `addFault` are
 * retried after a 429 only, because after any other failure the service may have carried them out already.
 */
export interface Sandbox {
  /** Returns the sandbox's seed, and how many stations, bikes and rides it has. */
  show(options?: RequestOptions): ApiPromise<SandboxStatus>;
  /** Makes the city anew. The same seed makes exactly the same city. Keys, webhooks, events and deliveries stay. */
  reset(request?: SandboxReset, options?: RequestOptions): ApiPromise<SandboxStatus>;
  /**
   * Causes an event: it does in the city what leads to the event. Throws `ConflictError` when the city lacks something for
   * it.
   * @example const { resource_id } = await client.sandbox.trigger("ride.completed");
   */
  trigger(name: SandboxEventName, request?: SandboxEventRequest, options?: RequestOptions): ApiPromise<SandboxEvent>;
  /** Plays a scenario. Throws `ConflictError` when the city lacks something for it, such as a free bike. */
  scenario(name: SandboxScenarioName, options?: RequestOptions): ApiPromise<SandboxScenario>;
  /** Returns the sandbox's time, and whether all work that was due by then is done. */
  clock(options?: RequestOptions): ApiPromise<SandboxClock>;
  /** Lets time pass. Work that becomes due is done soon afterwards; `advanceAndWait` waits for it. */
  advance(request: SandboxClockRequest, options?: RequestOptions): ApiPromise<SandboxClock>;
  /**
   * Lets time pass, and waits until the work that became due is done: reservations have expired, deliveries have been tried.
   * @throws TimeoutError when that takes longer than `totalTimeoutMs`; the reason of `signal` when it aborts
   */
  advanceAndWait(request: SandboxClockRequest, options?: RequestOptions): Promise<SandboxClock>;
  /**
   * Waits until all work that is due is done.
   * @throws TimeoutError when that takes longer than `totalTimeoutMs`; the reason of `signal` when it aborts
   */
  waitUntilReady(options?: RequestOptions): Promise<SandboxClock>;
  /** Makes requests to the API fail, for a number of requests or a time. */
  addFault(request: SandboxFaultRequest, options?: RequestOptions): ApiPromise<SandboxFaults>;
  /** Ends all faults of the API. */
  endFaults(options?: RequestOptions): ApiPromise<SandboxFaults>;
  /** Makes deliveries fail. It replaces the faults that were set before; `{}` ends all. */
  setWebhookFaults(request: Partial<SandboxWebhookFaults>, options?: RequestOptions): ApiPromise<SandboxWebhookFaults>;
}

/**
 * A client of your sandbox: all that `BikeShare` has, and `sandbox`.
 *
 * @example
 * const client = new SandboxClient({ baseUrl: "https://bikes.example", apiKey: "bss_test_…" });
 * const held = await client.reservations.create({ station_id: "station-007" });
 * await client.sandbox.advanceAndWait({ seconds: 900 });
 * const { status } = await client.reservations.get(held.id); // "expired"
 */
export class SandboxClient extends BikeShare {
  /** Controls the sandbox. */
  readonly sandbox: Sandbox;

  /** @throws UsageError that names the wrong option, and for a live key */
  constructor(options: ClientOptions) {
    super(options);
    const { apiKey } = options;
    if (typeof apiKey === "string" && apiKey.startsWith("bss_live_"))
      throw new UsageError("apiKey is a live key; the key of a sandbox begins with bss_test_");
    this.sandbox = createSandbox(options);
  }
}

function createSandbox(clientOptions: ClientOptions): Sandbox {
  // A separate API object, because these requests have their own rate limit.
  const api = createApi(clientOptions);
  // Only the timeouts and the platform of these settings are used, for the waits below.
  const settings = readOptions(clientOptions);
  const { show, reset, trigger, scenario, clock, advance, addFault, endFaults, setWebhookFaults } = sandboxRoutes;
  const sandbox: Sandbox = {
    show: (options) => api.call({ route: show }, options),
    reset: (body = {}, options) => api.call({ route: reset, body }, options),
    // In the routes of `trigger` and `scenario`, `:id` is the name of the event or the scenario.
    trigger: (id, body = {}, options) => api.call({ route: trigger, id, body }, options),
    scenario: (id, options) => api.call({ route: scenario, id, body: {} }, options),
    clock: (options) => api.call({ route: clock }, options),
    advance: (body, options) => api.call({ route: advance, body }, options),
    advanceAndWait: (request, options) =>
      withinTotalTimeout(options, async (limited) => {
        await sandbox.advance(request, limited);
        return pollUntilReady(limited);
      }),
    waitUntilReady: (options) => withinTotalTimeout(options, pollUntilReady),
    addFault: (body, options) => api.call({ route: addFault, body }, options),
    endFaults: (options) => api.call({ route: endFaults }, options),
    setWebhookFaults: (body, options) => api.call({ route: setWebhookFaults, body }, options),
  };

  /** Runs work whose requests end together after `totalTimeoutMs`. @param work with options that have the signal */
  async function withinTotalTimeout<Result>(
    options: RequestOptions | undefined,
    work: (limited: RequestOptions & { readonly signal: AbortSignal }) => Promise<Result>,
  ): Promise<Result> {
    const { platform, totalTimeoutMs, signal } = withOptions(settings, options);
    const [operation] = clock;
    const onTimeout = () => new TimeoutError(`${operation}: not ready within ${totalTimeoutMs} ms`);
    return withTimeout(platform, totalTimeoutMs, signal, onTimeout, (limited) => work({ ...options, signal: limited }));
  }

  /** Requests the clock until all due work is done. @param limited options whose signal ends the waiting */
  async function pollUntilReady(limited: RequestOptions & { readonly signal: AbortSignal }): Promise<SandboxClock> {
    for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(delayMs * 2, MAX_DELAY_MS)) {
      const found = await sandbox.clock(limited);
      if (found.ready) return found;
      await sleep(settings.platform, delayMs, limited.signal);
    }
  }

  return sandbox;
}
