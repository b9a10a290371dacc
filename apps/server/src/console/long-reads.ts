import type { FastifyRequest } from "fastify";
import type { Queryable } from "../storage/db/database.ts";
import type { FilteredReads, ListReader } from "../storage/lists/read-context.ts";
import { consoleCaller, type ConsoleRequest } from "./authorize.ts";

export type LongRequest = ConsoleRequest & Pick<FastifyRequest, "signal">;

/**
 * What pages read that may take long. Nobody is refused a reservation because others look at pages: a partner's pages have
 * one place together, the same that its filtered lists use, and what nobody waits for any more does not begin.
 */
export interface LongReads {
  /** The database for services whose statements take long. */
  databaseFor(request: LongRequest): Queryable;
  /** Does work of several statements that is long together. */
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
