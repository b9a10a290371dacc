import { serviceError } from "@bikeshare/rules";
import type { FastifyInstance } from "fastify";

/** Longer than a busy machine delays a process; shorter than callers wait. */
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
