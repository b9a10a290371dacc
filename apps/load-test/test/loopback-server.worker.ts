import { createServer } from "node:http";
import { setImmediate, setTimeout } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";

/* A service in a thread of its own, whose answers take exactly as long as they are meant to. */

export interface LoopbackServerOptions {
  /** Each answer takes as long: exactly, or as timers are. */
  readonly delayMs?: number;
  readonly isExact?: boolean;
  readonly body?: string;
}

const {
  delayMs = 0,
  isExact = false,
  body = '{"data":[],"page":1,"total_pages":1}',
} = workerData as LoopbackServerOptions;

const server = createServer((_request, response) => {
  const receivedAt = performance.now();
  const answer = () => void response.writeHead(200, { "content-type": "application/json" }).end(body);
  answerAt(receivedAt + delayMs).then(answer, (error: unknown) => response.destroy(error as Error));
});
// The whole server stands still for as many milliseconds as it is sent.
parentPort?.on("message", (milliseconds: number) => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
});
server.listen(0, "127.0.0.1", () => parentPort?.postMessage(server.address()));

async function answerAt(time: number): Promise<void> {
  if (delayMs > 2) await setTimeout(isExact ? delayMs - 2 : delayMs);
  while (isExact && performance.now() < time) await setImmediate();
}
