import type { Readable } from "node:stream";
import { serviceError } from "@bikeshare/rules";
import type { PartnerScope } from "../webhooks/endpoints/endpoint-context.ts";

/** Seconds after which a download of another file may be tried: about what a whole file takes. */
const RETRY_SECONDS = 5;

/** Files that are being downloaded: one at a time of each partner, however many people ask. */
export interface Exports {
  /** @throws ServiceError while another one of the partner is being read */
  begin(whose: PartnerScope, make: () => Promise<Readable>): Promise<Readable>;
}

export function createExports(): Exports {
  const running = new Set<string>();
  return {
    async begin({ systemId, partnerId }, make) {
      const reader = `${systemId}\n${partnerId}`;
      if (running.has(reader)) throw serviceError("rate_limited", "exports", { retryAfterSeconds: RETRY_SECONDS });
      running.add(reader);
      try {
        const file = await make();
        return file.once("close", () => running.delete(reader));
      } catch (error) {
        running.delete(reader);
        throw error;
      }
    },
  };
}
