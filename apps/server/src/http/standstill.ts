import { serviceError } from "@bikeshare/rules";
import type { FastifyInstance } from "fastify";

/** Longer than a busy machine holds a process back; shorter than callers wait. */
const MAX_STANDSTILL_MS = 5_000;
const HEARTBEAT_INTERVAL_MS = 250;
/** After a process went on: what had waited in its sockets is read by then. */
const READ_WITHIN_MS = 1_000;
const RETRY_SECONDS = 1;

/**
 * Refuses what would change something and may have waited in the socket of a process that stood still, as a frozen virtual
 * machine does. Whoever sent it may have given up, and been refused elsewhere: carried out now, it would surprise them.
 * @param maxStandstillMs for which the process may stand still without any of this
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
