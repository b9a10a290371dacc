import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import type { DeliveryResult } from "./delivery-ledger.ts";
import type { ReceiverData, ReceiverRequest } from "./receiver.worker.ts";

/** Receives the webhooks of a run, in a thread of its own: what else the load test does delays none of them. */
export interface Receiver {
  /** The URL of an endpoint by its index. */
  urlOf(endpoint: number): string;
  /** The secret of each endpoint, in their order. */
  useSecrets(secrets: readonly string[]): Promise<void>;
  /** A run begins: what came before is forgotten. */
  begin(): Promise<void>;
  /** Waits until the webhooks of all events have arrived, or for a time: what has not come by then is lost. */
  result(events: readonly string[], timeoutMs?: number): Promise<DeliveryResult>;
  close(): Promise<void>;
}

/** The first retries are over by then. Longer delays the report of a service that lost some. */
const DRAIN_TIMEOUT_MS = 20_000;
const POLL_INTERVAL_MS = 100;

/** @param port 0: one that is free */
export async function startReceiver(port = 0): Promise<Receiver> {
  const workerData: ReceiverData = { port };
  const execArgv = ["--conditions=@bikeshare/source"];
  const worker = new Worker(new URL("receiver.worker.ts", import.meta.url), { workerData, execArgv });
  const [address] = (await once(worker, "message")) as [AddressInfo];
  const ask = async (request: ReceiverRequest) => {
    const answered = once(worker, "message");
    worker.postMessage(request);
    return ((await answered) as [unknown])[0];
  };
  return {
    urlOf: (endpoint) => `http://127.0.0.1:${address.port}/${endpoint}`,
    async useSecrets(secrets) {
      await ask({ kind: "secrets", secrets });
    },
    async begin() {
      await ask({ kind: "begin" });
    },
    async result(events, timeoutMs = DRAIN_TIMEOUT_MS) {
      const read = async () => (await ask({ kind: "result", events })) as DeliveryResult;
      let result = await read();
      for (let waited = 0; result.lost > 0 && waited < timeoutMs; waited += POLL_INTERVAL_MS) {
        await setTimeout(POLL_INTERVAL_MS);
        result = await read();
      }
      return result;
    },
    close: async () => void (await worker.terminate()),
  };
}
