import { acknowledge, unacknowledge } from "../health/checks/acknowledgements.ts";
import { partnerOverview } from "../health/overview/partner-overview.ts";
import { systemOverview } from "../health/overview/system-overview.ts";
import type { ConsoleRoutes } from "./answers.ts";
import { consoleCaller, partnerCaller } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";
import type { LongReads } from "./long-reads.ts";

type Routes = ConsoleRoutes;

/** What an operator does about checks. */
export function checkRoutes(context: ConsoleContext): Routes["checks"] {
  return {
    acknowledge: async ({ body: { until, ...what }, request }) => {
      const { systemId, actor } = consoleCaller(request);
      const input = { ...what, until: until === null ? null : new Date(until) };
      await acknowledge({ ...context, actor }, systemId, input);
      return { status: 200, body: {} };
    },
    unacknowledge: async ({ body, request }) => {
      const { systemId, actor } = consoleCaller(request);
      return { status: 200, body: { changed: await unacknowledge({ ...context, actor }, systemId, body) } };
    },
  };
}

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
