import { RATE_WINDOW_SECONDS } from "@bikeshare/contract";
import { type ServiceError, serviceError } from "@bikeshare/rules";
import type { FastifyRequest } from "fastify";
import type { RateLimits } from "../http/rate-limits/rate-limits.ts";
import type { FoundSession } from "./find-session.ts";
import { frameToken, sessionToken } from "./session-cookie.ts";

/** How many requests sessions make. */
export interface SessionRate {
  /**
   * Refuses a flood of a session that has just used up its rate before anybody looks the session up.
   * @throws ServiceError `rate_limited`
   */
  refuseFlood(request: Pick<FastifyRequest, "raw">): void;
  /**
   * Counts a request, or several for one that costs more: either all of them or, where fewer are left, none.
   * @throws ServiceError `rate_limited`
   */
  count(session: Pick<FoundSession, "id" | "token">, cost?: number): Promise<void>;
  /** Forgets what is counted no more. */
  sweep(): void;
}

/**
 * Requests in any 60 s of one session: ten pages that ask once a second. More is a program with a stolen cookie, or a page
 * gone wild.
 */
const SESSION_RATE_LIMIT = 600;
/** Milliseconds without a look-up after a request was rejected: short, because the session may have room again or may have ended. */
const FLOOD_MS = 1_000;

export function createSessionRate(rateLimits: RateLimits, clock: () => number): SessionRate {
  const limiter = rateLimits.limiter("session");
  const exhausted = new Map<string, { readonly at: number; readonly error: ServiceError }>();
  const isRecent = (at: number) => Math.abs(clock() - at) < FLOOD_MS;
  return {
    refuseFlood(request) {
      const refused = exhausted.get(sessionToken(request) ?? frameToken(request) ?? "");
      if (refused !== undefined && isRecent(refused.at)) throw refused.error;
    },
    async count({ id, token }, cost = 1) {
      if (cost > 1) {
        const { remaining, resetSeconds } = await limiter.peek(id, SESSION_RATE_LIMIT);
        if (remaining < cost) throw tooManyRequests(resetSeconds);
      }
      for (let counted = 0; counted < cost; counted++) {
        const { allowed, resetSeconds } = await limiter.take(id, SESSION_RATE_LIMIT);
        if (allowed) continue;
        const error = tooManyRequests(resetSeconds);
        exhausted.set(token, { at: clock(), error });
        throw error;
      }
    },
    sweep() {
      limiter.sweep();
      for (const [token, { at }] of exhausted) if (!isRecent(at)) exhausted.delete(token);
    },
  };
}

function tooManyRequests(retryAfterSeconds: number): ServiceError {
  const values = { limit: SESSION_RATE_LIMIT, windowSeconds: RATE_WINDOW_SECONDS, retryAfterSeconds };
  return serviceError("rate_limited", "session", values);
}
