import type { FastifyRequest } from "fastify";
import type { Queryable } from "../storage/db/database.ts";
import type { FilteredReads, ListReader } from "../storage/lists/read-context.ts";
import { consoleCaller, type ConsoleRequest } from "./authorize.ts";

export type LongRequest = ConsoleRequest & Pick<FastifyRequest, "signal">;

/**
 * Reads of pages that may take long. They must not make the service reject reservations: a partner's pages share one
 * connection with its filtered lists, and a read does not begin after its caller has disconnected.
 */
export interface LongReads {
  /** The database for services whose statements take long. */
  databaseFor(request: LongRequest): Queryable;
  /** Runs several statements that take long together. */
  hold<Result>(request: LongRequest, work: () => Promise<Result>): Promise<Result>;
}

export function createLongReads(reads: FilteredReads): LongReads {
  return {
    databaseFor: (request) => reads.databaseFor(readerOf(request)),
    hold: (request, work) => reads.hold(readerOf(request), work),
  };
}

/** Each person of the operator reads for themselves. */
function readerOf(request: LongRequest): ListReader {
  const { systemId, partnerId, actor } = consoleCaller(request);
  return { systemId, partnerId: partnerId ?? actor, signal: request.signal, isPage: true };
}
