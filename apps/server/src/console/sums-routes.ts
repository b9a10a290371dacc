import { flowsOfStation, recentFlows } from "../city/history/flows.ts";
import { cityAtAGlance, summaryAgainst, sumsOfStations } from "../city/history/summary.ts";
import { forecastOfStation, typicalOfStation, weekOfStation } from "../city/history/typical.ts";
import type { ConsoleRoutes } from "./answers.ts";
import { consoleCaller } from "./authorize.ts";
import type { ConsoleContext, LongReads, LongRequest } from "./context.ts";

/** Routes of the city over time, for the operator. */
export function systemSumsRoutes(context: ConsoleContext, long: LongReads): ConsoleRoutes["systemSums"] {
  const { clock, longRideAfterMs } = context;
  const of = (request: LongRequest) => consoleCaller(request).systemId;
  // The statements of one answer run together: a page waits once.
  const read = <Body>(request: LongRequest, work: (context: ConsoleContext, systemId: string) => Promise<Body>) =>
    long.hold(request, () => work(context, of(request))).then((body) => ({ status: 200 as const, body }));
  return {
    glance: ({ request }) =>
      read(request, ({ db }, systemId) => cityAtAGlance({ db, clock }, systemId, longRideAfterMs)),
    summary: ({ query, request }) =>
      read(request, ({ db }, systemId) => summaryAgainst({ db, clock }, systemId, query)),
    stations: ({ query, request }) =>
      read(request, ({ db }, systemId) => sumsOfStations({ db, clock }, systemId, query)),
    recentFlows: ({ request }) => read(request, ({ db }, systemId) => recentFlows({ db, clock }, systemId)),
    typical: ({ params: { id }, request }) =>
      read(request, ({ db }, systemId) => typicalOfStation({ db, clock }, systemId, id)),
    forecast: ({ params: { id }, query, request }) =>
      read(request, ({ db }, systemId) => forecastOfStation({ db, clock }, systemId, id, query)),
    week: ({ params: { id }, request }) =>
      read(request, ({ db }, systemId) => weekOfStation({ db, clock }, systemId, id)),
    flows: ({ params: { id }, query, request }) =>
      read(request, ({ db }, systemId) => flowsOfStation({ db, clock }, systemId, id, query)),
  };
}

/** Routes of stations over time, for partners. */
export function partnerSumsRoutes({ db, clock }: ConsoleContext, long: LongReads): ConsoleRoutes["partnerSums"] {
  return {
    typical: async ({ params: { id }, request }) => {
      const { systemId } = consoleCaller(request);
      const body = await long.hold(request, () => typicalOfStation({ db, clock }, systemId, id));
      return { status: 200, body };
    },
    week: async ({ params: { id }, request }) => {
      const { systemId } = consoleCaller(request);
      const body = await long.hold(request, () => weekOfStation({ db, clock }, systemId, id));
      return { status: 200, body };
    },
  };
}
