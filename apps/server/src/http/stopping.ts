import type { Server } from "node:http";
import { Server as NetServer } from "node:net";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance } from "fastify";

/** The server to stop, and how long each step of stopping may take. */
interface StoppingOptions {
  readonly http: FastifyInstance;
  /** Makes `/readyz` answer 503, and every answer carry `Connection: close`. */
  readonly drain: () => void;
  /** Resolves when load balancers have had time to see the 503. Requests are still answered meanwhile. */
  readonly delay: () => Promise<void>;
  /**
   * Milliseconds that an idle connection stays open after the listener is closed. If a client uses the connection again, the
   * answer tells the client to close it. A client that was idle for this long probably sends no request.
   */
  readonly idleMs: number;
  /** Milliseconds that requests under way have to end after the listener is closed. */
  readonly requestsMs: number;
}

/**
 * Stops answering without failing a request. A client may send a request on a kept connection at any moment, so connections
 * are closed after a response with `Connection: close`.
 */
export async function stopAnswering({ http, drain, delay, idleMs, requestsMs }: StoppingOptions): Promise<void> {
  drain();
  await delay();
  const { server } = http;
  await untilNoneIsWaiting(server);
  const ended = closeListener(server);
  const done = new AbortController();
  const after = async (milliseconds: number, work: () => void) => {
    // Rejected when `done` is aborted: all connections have ended, and `work` is not needed.
    await sleep(milliseconds, undefined, { signal: done.signal }).then(work, () => undefined);
  };
  const bounds = [
    after(idleMs, () => closeIdle(server, done.signal)),
    after(requestsMs, () => server.closeAllConnections()),
  ];
  await ended;
  done.abort();
  await Promise.all(bounds);
  await http.close();
}

/**
 * Waits until the listener has accepted all connections that wait in the operating system: closing the listener would reset
 * them together with their requests. One connection is accepted in each pass of the event loop.
 */
async function untilNoneIsWaiting(server: Server): Promise<void> {
  let taken = 0;
  const take = () => taken++;
  server.on("connection", take);
  for (let pass = 0, before = -1; pass < MAX_PASSES && taken !== before; pass++) {
    before = taken;
    // The first may resolve within the current pass, before sockets are looked at; the second is a whole pass later.
    await setImmediate();
    await setImmediate();
  }
  server.off("connection", take);
}

/** The most passes of the event loop, each a fraction of a millisecond: endless new clients must not delay a stop. */
const MAX_PASSES = 1_000;

/** Stops accepting connections. Resolves when the last connection has ended. */
function closeListener(server: Server): Promise<void> {
  if (!server.listening) return Promise.resolve();
  // Calls `close` of `net`, because `close` of `http` would also close idle connections at once.
  const { promise, resolve } = Promise.withResolvers<void>();
  NetServer.prototype.close.call(server, () => resolve());
  return promise;
}

/**
 * Closes idle connections, now and every 50 ms: an answer that began before draining had no `Connection: close`, and its
 * connection becomes idle when it ends.
 */
function closeIdle(server: Server, until: AbortSignal): void {
  server.closeIdleConnections();
  const timer = setInterval(() => server.closeIdleConnections(), 50);
  until.addEventListener("abort", () => clearInterval(timer), { once: true });
}

/**
 * Adds `Connection: close` to each response from the moment that draining begins.
 * @returns `begin` begins draining; `is` tells whether it has begun
 */
export function closeConnectionsWhenDraining(http: FastifyInstance): {
  readonly is: () => boolean;
  readonly begin: () => void;
} {
  let draining = false;
  http.addHook("onSend", (_request, reply, payload, done) => {
    if (draining) reply.header("connection", "close");
    done(null, payload);
  });
  return { is: () => draining, begin: () => (draining = true) };
}
