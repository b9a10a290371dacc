import type { RideContext } from "../city/rides/service.ts";
import type { ConsoleRoutes } from "./answers.ts";
import { partnerCaller } from "./authorize.ts";
import { type ConsoleContext, type LongReads, readerOf } from "./context.ts";

/** What an agency is given. Its modules are loaded when somebody looks: they have the contract of MDS. */
export function agencyRoutes(
  context: ConsoleContext,
  { filtered }: RideContext,
  long: LongReads,
): ConsoleRoutes["agency"] {
  return {
    get: async ({ request }) => {
      const { systemId, partnerId } = partnerCaller(request);
      const { viewAgency } = await import("../feeds/mds/agency-view.ts");
      const reads = { ...context, db: long.databaseFor(request) };
      return { status: 200, body: { agency: (await viewAgency(reads, systemId, partnerId)) ?? null } };
    },
    report: async ({ params: { file }, request, reply }) => {
      const { partnerId, actor } = partnerCaller(request);
      const { downloadReport } = await import("../feeds/mds/agency-view.ts");
      const whose = { ...readerOf(request), partnerId };
      const { month, text } = await downloadReport({ ...context, actor, filtered }, whose, file);
      reply.header("content-type", "text/csv; charset=utf-8");
      reply.header("content-disposition", `attachment; filename="${month}.csv"`);
      return { status: 200, body: text };
    },
  };
}
