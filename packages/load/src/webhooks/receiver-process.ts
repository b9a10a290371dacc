import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { DeliveryResult } from "../result.ts";
import type { Receiver, ReceiverOptions } from "./receiver.ts";

/**
 * The receivers of `receiver.ts` in a separate process, so that this process does not delay them, and their processor time
 * is measured separately. That process runs `receiver.process.ts`. Methods without a comment are those of `Receiver`.
 */
export interface ReceiverProcess extends Pick<Receiver, "urls" | "urlOf"> {
  readonly pid: number;
  useSecrets(secrets: readonly string[]): Promise<void>;
  begin(): Promise<void>;
  readonly count: () => Promise<number>;
  takeArrivals(): Promise<(readonly [body: string, at: number])[]>;
  /** Waits until the webhooks of all events have arrived, or the timeout is over. Missing ones then count as lost. */
  result(events: readonly string[], timeoutMs?: number): Promise<DeliveryResult>;
  close(): Promise<void>;
}

/** Requests to the process, which answers them in order. */
export type ReceiverRequest =
  | { readonly kind: "begin" | "count" | "arrivals" }
  | { readonly kind: "secrets"; readonly secrets: readonly string[] }
  | { readonly kind: "result"; readonly events: readonly string[] };

/**
 * Limits the wait for outstanding deliveries; the first retries are over by then. Too high: delays the report of lost
 * deliveries.
 */
const DRAIN_TIMEOUT_MS = 20_000;
const POLL_INTERVAL_MS = 100;

/**
 * Starts the process. Wait for each request to it before the next one: its answers carry no number.
 *
 * @throws Error, also from each request, when the process has ended
 */
export async function startReceiver(options: ReceiverOptions = {}): Promise<ReceiverProcess> {
  // The export condition makes imports of our packages load their TypeScript.
  const execArgv = ["--conditions=@bikeshare/source"];
  const child: ChildProcess = fork(join(import.meta.dirname, "receiver.process.ts"), [JSON.stringify(options)], {
    execArgv,
  });
  const ended = once(child, "exit").then(([code, signal]) => {
    throw new Error(`The receiver process has ended (${signal ?? `exit code ${code}`}).`);
  });
  // A process that ends after the last request is no error.
  ended.catch(() => undefined);
  const answer = async <Reply>(): Promise<Reply> => (await Promise.race([once(child, "message"), ended]))[0] as Reply;
  const urls = await answer<string[]>();
  const ask = <Reply>(request: ReceiverRequest): Promise<Reply> => {
    const answered = answer<Reply>();
    // The callback takes the error of a process that has ended: `answered` reports it.
    child.send(request, () => undefined);
    return answered;
  };
  return {
    pid: child.pid ?? 0,
    urls,
    urlOf: (endpoint) => `${urls[endpoint % urls.length]}/${endpoint}`,
    useSecrets: (secrets) => ask({ kind: "secrets", secrets }),
    begin: () => ask({ kind: "begin" }),
    count: () => ask({ kind: "count" }),
    takeArrivals: () => ask({ kind: "arrivals" }),
    async result(events, timeoutMs = DRAIN_TIMEOUT_MS) {
      const read = () => ask<DeliveryResult>({ kind: "result", events });
      let result = await read();
      for (let waited = 0; result.lost > 0 && waited < timeoutMs; waited += POLL_INTERVAL_MS) {
        await sleep(POLL_INTERVAL_MS);
        result = await read();
      }
      return result;
    },
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill();
      await once(child, "exit");
    },
  };
}
