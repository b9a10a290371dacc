import type { partnerContract } from "@bikeshare/contract";
import type { RouterImplementation } from "@ts-rest/fastify";
import { unavailable } from "./errors.ts";

/** The endpoints that tell a load balancer how the process is. */
export function healthRoutes(options: {
  /** Fails while the database cannot serve. */
  readonly pingDatabase: () => Promise<void>;
  readonly isDraining: () => boolean;
  /** What an operator should look at although requests are answered. */
  readonly concerns: () => readonly string[];
}): RouterImplementation<(typeof partnerContract)["health"]> {
  return {
    live: async () => ({ status: 200, body: { status: "ok" } }),
    ready: async () => {
      if (options.isDraining()) throw unavailable("The process is shutting down.");
      await options.pingDatabase();
      const concerns = [...options.concerns()];
      return { status: 200, body: concerns.length === 0 ? { status: "ok" } : { status: "ok", concerns } };
    },
  };
}
