import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { SecondResult } from "../result.ts";
import { createCollector, type RunOutcome } from "./collector.ts";
import type { Plan } from "./plan.ts";
import { preferThisProcess } from "./real-time.ts";
import type { WorkerData, WorkerMessage } from "./worker.ts";

export interface RunOptions {
  readonly plan: Plan;
  /** Called when a second of the run is over on every worker. */
  readonly onSecond?: ((second: SecondResult) => void) | undefined;
  /** Aborting it stops the threads and rejects the run. */
  readonly signal?: AbortSignal | undefined;
}

/** Delay of the run's start, so that all threads receive its time before it comes. */
const START_DELAY_MS = 200;

/**
 * Runs a plan on its worker threads.
 * @throws the error of a thread that failed; Error when a thread ends early, or when `signal` aborts
 */
export async function runPlan({ plan, onSecond, signal }: RunOptions): Promise<RunOutcome> {
  const workers = Array.from({ length: plan.workers }, (_, workerIndex) => startWorker({ plan, workerIndex }));
  const collector = createCollector(plan, onSecond);
  const failed = Promise.withResolvers<never>();
  const abort = () => failed.reject(new Error("The run was stopped."));
  signal?.addEventListener("abort", abort, { once: true });
  let endPreference = async () => {};
  try {
    const ready = workers.map((worker) => once(worker, "message"));
    for (const worker of workers) worker.once("error", failed.reject);
    const firstMessages = (await Promise.race([Promise.all(ready), failed.promise])) as [WorkerMessage][];
    // A worker sends nothing more before it knows when to start, so no message is missed.
    const finished = Promise.all(workers.map((worker) => collect(worker, (message) => collector.take(message))));
    // A worker may end while `preferThisProcess` is awaited. The race below rejects then.
    finished.catch(() => undefined);
    for (const [message] of firstMessages) collector.take(message);
    // Real-time scheduling, so that requests start at their intended times. In the closed model they have none.
    if (plan.mode === "open") endPreference = await preferThisProcess();
    // Milliseconds since 1970, because each thread has its own monotonic clock.
    const startEpochMs = performance.timeOrigin + performance.now() + START_DELAY_MS;
    for (const worker of workers) worker.postMessage(startEpochMs);
    await Promise.race([finished, failed.promise]);
    return collector.outcome(startEpochMs);
  } finally {
    signal?.removeEventListener("abort", abort);
    await Promise.all([...workers.map((worker) => worker.terminate()), endPreference()]);
  }
}

function startWorker(workerData: WorkerData): Worker {
  // The export condition makes imports of our packages load their TypeScript. It is given, because a thread does not
  // inherit it when a test runner starts the thread.
  const execArgv = ["--conditions=@bikeshare/source"];
  return new Worker(new URL("worker.ts", import.meta.url), { workerData, execArgv });
}

/** Passes a worker's messages on until it has finished. */
function collect(worker: Worker, take: (message: WorkerMessage) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.on("message", (message: WorkerMessage) => {
      take(message);
      if (message.kind === "finished") resolve();
    });
    worker.once("exit", () => reject(new Error("A worker thread ended before its requests did.")));
  });
}
