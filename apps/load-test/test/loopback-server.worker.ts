import { createServer } from "node:http";
import { setImmediate, setTimeout } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";

/* A fake service in a separate thread, which records how long its responses took. */

/**
 * A message to the thread: `"delays"` asks how long the responses took, a number stalls the service for as many
 * milliseconds.
 */
export type LoopbackRequest = "delays" | number;

export interface LoopbackServerOptions {
  /** Milliseconds that each response takes: exactly if `isExact`, otherwise with the inaccuracy of timers. */
  readonly delayMs?: number;
  readonly isExact?: boolean;
  /** The status of responses to requests for a page by its number. All other requests get an empty list. */
  readonly status?: number;
  readonly body?: string;
}

const EMPTY_LIST = '{"data":[],"page":1,"total_pages":1}';
const { delayMs = 0, isExact = false, status = 200, body = EMPTY_LIST } = workerData as LoopbackServerOptions;

const delays: number[] = [];

const server = createServer(({ url = "" }, response) => {
  const receivedAt = performance.now();
  const [answerStatus, text] = url.includes("page=") ? [status, body] : [200, EMPTY_LIST];
  const answer = () => {
    delays.push(performance.now() - receivedAt);
    response.writeHead(answerStatus, { "content-type": "application/json" }).end(text);
  };
  answerAt(receivedAt + delayMs).then(answer, (error: unknown) => response.destroy(error as Error));
});
parentPort?.on("message", (request: LoopbackRequest) => {
  if (request === "delays") parentPort?.postMessage(delays);
  else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, request);
});
server.listen(0, "127.0.0.1", () => parentPort?.postMessage(server.address()));

async function answerAt(time: number): Promise<void> {
  if (delayMs > 2) await setTimeout(isExact ? delayMs - 2 : delayMs);
  while (isExact && performance.now() < time) await setImmediate();
}
