import { partnerOverview } from "../health/overview/partner-overview.ts";
import { systemOverview } from "../health/overview/system-overview.ts";
import type { ConsoleRoutes } from "./answers.ts";
import { consoleCaller, partnerCaller } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";
import type { LongReads } from "./long-reads.ts";

type Routes = ConsoleRoutes;

/** What a partner sees first. */
export function partnerOverviewRoutes(context: ConsoleContext, long: LongReads): Routes["partnerOverview"] {
  return {
    get: async ({ request }) => ({
      status: 200,
      body: await long.hold(request, () => partnerOverview(context, partnerCaller(request))),
    }),
  };
}

/** What the operator sees first. */
export function systemOverviewRoutes(context: ConsoleContext, long: LongReads): Routes["systemOverview"] {
  return {
    get: async ({ request }) => ({
      status: 200,
      body: await long.hold(request, () => systemOverview(context, consoleCaller(request).systemId)),
    }),
  };
}
