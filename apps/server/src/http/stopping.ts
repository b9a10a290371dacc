import type { Server } from "node:http";
import { Server as NetServer } from "node:net";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { serviceError } from "@bikeshare/rules";
import type { FastifyInstance } from "fastify";

interface StoppingOptions {
  readonly http: FastifyInstance;
  /** From now on `/readyz` is 503, and every answer carries `Connection: close`. */
  readonly drain: () => void;
  /** Resolves when load balancers have had time to see that. Requests are taken meanwhile. */
  readonly delay: () => Promise<void>;
  /**
   * Milliseconds that an idle connection stays open after the listener is closed. A client that uses it once more is
   * answered, and told by that answer to close it; one that was idle for this long is unlikely to be about to ask.
   */
  readonly idleMs: number;
  /** Milliseconds that requests under way have to end after the listener is closed. */
  readonly requestsMs: number;
}

/**
 * Stops answering without failing a request: a client that keeps a connection may send on it at any moment, so the
 * connection is closed by a response that announces it.
 */
export async function stopAnswering({ http, drain, delay, idleMs, requestsMs }: StoppingOptions): Promise<void> {
  drain();
  await delay();
  const { server } = http;
  await untilNoneIsWaiting(server);
  const ended = closeListener(server);
  const done = new AbortController();
  const after = async (milliseconds: number, work: () => void) => {
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
 * Waits until the operating system holds no connection that the listener has not accepted yet: closing the listener would
 * reset it together with its request. One connection is accepted in each pass of the event loop.
 */
async function untilNoneIsWaiting(server: Server): Promise<void> {
  let taken = 0;
  const take = () => taken++;
  server.on("connection", take);
  for (let pass = 0, before = -1; pass < MAX_PASSES && taken !== before; pass++) {
    before = taken;
    await setImmediate();
    await setImmediate();
  }
  server.off("connection", take);
}

/** Passes of the event loop, each a fraction of a millisecond: an endless stream of clients must not hold up a stop. */
const MAX_PASSES = 1_000;

/** Takes no new connections; resolves when the last one has ended. */
function closeListener(server: Server): Promise<void> {
  if (!server.listening) return Promise.resolve();
  // A server of http also cuts its idle connections when it is closed; one of net leaves them to us.
  const { promise, resolve } = Promise.withResolvers<void>();
  NetServer.prototype.close.call(server, () => resolve());
  return promise;
}

/**
 * Closes idle connections, now and whenever a request ends: an answer that began before the draining did not announce the
 * closing.
 */
function closeIdle(server: Server, until: AbortSignal): void {
  server.closeIdleConnections();
  const timer = setInterval(() => server.closeIdleConnections(), 50);
  until.addEventListener("abort", () => clearInterval(timer), { once: true });
}

/** Adds `Connection: close` to each response from the moment that draining begins. */
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

/**
 * Minimum standstill before requests are refused. Too low: refuses requests on a busy machine. Too high: callers time
 * out first.
 */
const MAX_STANDSTILL_MS = 5_000;
const HEARTBEAT_INTERVAL_MS = 250;
/** Time to read the requests that waited in the sockets, after the process resumes. */
const READ_WITHIN_MS = 1_000;
const RETRY_SECONDS = 1;

/**
 * Rejects writing requests that may have waited in the socket while the process stood still, as in a frozen virtual
 * machine. Their senders may have given up and used another process: running them now would surprise the senders.
 * @param maxStandstillMs the standstill up to which nothing is rejected
 */
export function refuseAfterStandstill(app: FastifyInstance, maxStandstillMs = MAX_STANDSTILL_MS): void {
  let heartbeatAt = performance.now();
  let refusedUntil = 0;
  // Requests that had waited are read before the timer runs, and those of new connections soon after it.
  const hasStoodStill = (now: number) => now - heartbeatAt > maxStandstillMs;
  const timer = setInterval(() => {
    const now = performance.now();
    if (hasStoodStill(now)) refusedUntil = now + READ_WITHIN_MS;
    heartbeatAt = now;
  }, HEARTBEAT_INTERVAL_MS);
  timer.unref();
  app.addHook("onClose", (_app, done) => {
    clearInterval(timer);
    done();
  });
  app.addHook("onRequest", ({ method }, _reply, done) => {
    const now = performance.now();
    const isRead = method === "GET" || method === "HEAD";
    const mayHaveWaited = !isRead && (now < refusedUntil || hasStoodStill(now));
    done(mayHaveWaited ? serviceError("unavailable", "stoodStill", { retryAfterSeconds: RETRY_SECONDS }) : undefined);
  });
}
