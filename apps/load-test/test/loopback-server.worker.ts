import { createServer } from "node:http";
import { setImmediate, setTimeout } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";

/* A service in a thread of its own, which knows how long its answers took. */

/** What the thread is asked for: how long the answers took so far in milliseconds, or to stand still for as long. */
export type LoopbackRequest = "delays" | number;

export interface LoopbackServerOptions {
  /** Each answer takes as long: exactly, or as timers are. */
  readonly delayMs?: number;
  readonly isExact?: boolean;
  /** What requests for a page by its number are answered with; others get an empty list. */
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
