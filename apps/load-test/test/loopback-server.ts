import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { Worker } from "node:worker_threads";
import type { Plan, StreamPlan } from "@bikeshare/load";
import type { TestContext } from "vitest";
import type { LoopbackRequest, LoopbackServerOptions } from "./loopback-server.worker.ts";

interface LoopbackServer {
  readonly url: string;
  /** Stops all responses for a while. */
  stall(milliseconds: number): void;
  /** Returns how long each response took by the server's clock, in milliseconds, shortest first. */
  delays(): Promise<number[]>;
}

/** Starts a server on loopback with the given behaviour. It is stopped when the test ends. */
export async function startLoopbackServer(
  { onTestFinished }: TestContext,
  options: LoopbackServerOptions = {},
): Promise<LoopbackServer> {
  const worker = new Worker(new URL("loopback-server.worker.ts", import.meta.url), { workerData: options });
  onTestFinished(async () => void (await worker.terminate()));
  const [{ port }] = (await once(worker, "message")) as [AddressInfo];
  const ask = (request: LoopbackRequest) => worker.postMessage(request);
  return {
    url: `http://127.0.0.1:${port}`,
    stall: ask,
    async delays() {
      ask("delays");
      const [delays] = (await once(worker, "message")) as [number[]];
      return delays.toSorted((a, b) => a - b);
    },
  };
}

/** Returns a plan with one stream. */
export function planOf(url: string, changes: Partial<Plan> & { readonly stream?: Partial<StreamPlan> } = {}): Plan {
  const { stream, ...rest } = changes;
  return {
    url,
    durationMs: 1000,
    warmUpMs: 0,
    workers: 1,
    connections: 100,
    mode: "open",
    seed: 1,
    runId: "test",
    operatorKey: undefined,
    world: { stations: ["station-1"], bikes: [], ridePages: 1 },
    checkEvery: 100,
    streams: [
      {
        name: "polling",
        scenario: "station-polling",
        ratePerSecond: 100,
        arrivals: "constant",
        keys: ["key"],
        bikes: [],
        ...stream,
      },
    ],
    ...rest,
  };
}
