import { MAX_PAGE_SIZE } from "@bikeshare/contract";
import { endAlert, listAllAlerts, openAlert } from "../city/alerts/service.ts";
import type { ConsoleRoutes } from "./answers.ts";
import { consoleCaller } from "./authorize.ts";
import type { ConsoleContext, LongReads } from "./context.ts";

/** Routes with which the operator tells riders of closures, moves and disturbances. */
export function alertRoutes(context: ConsoleContext, long: LongReads): ConsoleRoutes["alerts"] {
  return {
    list: async ({ query: { status }, request }) => {
      const options = { status, limit: MAX_PAGE_SIZE, now: new Date(context.clock()) };
      const { systemId } = consoleCaller(request);
      const { alerts: data, total } = await listAllAlerts(long.databaseFor(request), systemId, options);
      return { status: 200, body: { data, total } };
    },
    open: async ({ body, request }) => {
      const { systemId, actor } = consoleCaller(request);
      const item = { ...body, id: body.id ?? context.ids.next("alert") };
      return { status: 200, body: await openAlert({ ...context, actor }, systemId, item) };
    },
    end: async ({ params: { id }, request }) => {
      const { systemId, actor } = consoleCaller(request);
      return { status: 200, body: await endAlert({ ...context, actor }, systemId, id) };
    },
  };
}
