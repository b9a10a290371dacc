import type { partnerContract } from "@bikeshare/contract";
import type { RouterImplementation } from "@ts-rest/fastify";
import { unavailable } from "./errors.ts";

/** The endpoints that tell a load balancer whether the process lives and can answer requests. */
export function healthRoutes(options: {
  /** Throws while requests fail because of the database. */
  readonly pingDatabase: () => Promise<void>;
  readonly isDraining: () => boolean;
  /** Problems that need an operator although requests are answered. */
  readonly concerns: () => readonly string[];
}): RouterImplementation<(typeof partnerContract)["health"]> {
  const ping = shareLately(options.pingDatabase);
  return {
    live: async () => ({ status: 200, body: { status: "ok" } }),
    ready: async () => {
      if (options.isDraining()) throw unavailable("stopping");
      await ping();
      const concerns = [...options.concerns()];
      return { status: 200, body: concerns.length === 0 ? { status: "ok" } : { status: "ok", concerns } };
    },
  };
}

/** Milliseconds for which the result of a check of the database is reused, because anybody may ask any number of times. */
const PING_LIFETIME_MS = 200;

/** Shares one run of `work` among all callers during it and shortly after. */
function shareLately(work: () => Promise<void>): () => Promise<void> {
  let latest: Promise<void> | undefined;
  return () => {
    if (latest !== undefined) return latest;
    const run = work();
    latest = run;
    const forget = () => void setTimeout(() => (latest = undefined), PING_LIFETIME_MS).unref();
    run.then(forget, forget);
    return run;
  };
}
