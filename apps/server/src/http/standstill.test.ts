import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import Fastify, { type FastifyInstance } from "fastify";
import { afterEach, beforeEach, expect, it } from "vitest";
import { handleErrors } from "./errors.ts";
import { refuseAfterStandstill } from "./standstill.ts";

const MAX_STANDSTILL_MS = 100;

let app: FastifyInstance;
const carriedOut: string[] = [];
beforeEach(async () => {
  app = Fastify();
  handleErrors(app);
  refuseAfterStandstill(app, MAX_STANDSTILL_MS);
  for (const method of ["GET", "OPTIONS", "POST", "DELETE"] as const)
    app.route({ method, url: "/", handler: async () => void carriedOut.push(method) });
  await app.listen({ host: "127.0.0.1", port: 0 });
});
afterEach(() => app.close());

/** Sends a request that waits in its socket while this process stands still. @returns the raw response */
async function sendAndStandStill(method: string, standstillMs: number): Promise<string> {
  const socket = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
  await once(socket, "connect");
  socket.write(`${method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, standstillMs);
  return text(socket);
}

it("a process that stood still does nothing that its callers may have given up on, and says so; it still reads", async () => {
  for (const method of ["POST", "DELETE"]) {
    const response = await sendAndStandStill(method, 3 * MAX_STANDSTILL_MS);
    expect(response).toMatch(/^HTTP\/1\.1 503 /);
    expect(response).toContain("Nothing was changed");
  }
  for (const method of ["GET", "OPTIONS"])
    expect(await sendAndStandStill(method, 3 * MAX_STANDSTILL_MS)).toMatch(/^HTTP\/1\.1 200 /);
  expect(carriedOut).toEqual(["GET", "OPTIONS"]);
});
