import { serviceError } from "@bikeshare/rules";
import type { FastifyInstance } from "fastify";

/**
 * The longest standstill after which nothing is refused. Too low: refuses requests on a busy machine. Too high: callers
 * time out first, and send their requests elsewhere, before any is refused.
 */
const MAX_STANDSTILL_MS = 5_000;
const HEARTBEAT_INTERVAL_MS = 250;
/** Time after the process resumes in which requests that waited in the sockets are read. */
const READ_WITHIN_MS = 1_000;
const RETRY_SECONDS = 1;

/**
 * Rejects writing requests that may have waited in the socket while the process stood still, as in a frozen virtual
 * machine. Their senders may have given up and sent the request to another process.
 * @param maxStandstillMs the longest standstill after which nothing is rejected
 */
export function refuseAfterStandstill(app: FastifyInstance, maxStandstillMs = MAX_STANDSTILL_MS): void {
  let heartbeatAt = performance.now();
  let refusedUntil = 0;
  // Needed besides `refusedUntil`: requests that waited on open connections are read before the timer runs.
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
    const isRead = ["GET", "HEAD", "OPTIONS"].includes(method);
    const mayHaveWaited = !isRead && (now < refusedUntil || hasStoodStill(now));
    done(mayHaveWaited ? serviceError("unavailable", "stoodStill", { retryAfterSeconds: RETRY_SECONDS }) : undefined);
  });
}
