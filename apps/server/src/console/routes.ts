import { consoleContract } from "@bikeshare/contract/console";
import type { FastifyInstance } from "fastify";
import type { RideContext } from "../city/rides/service.ts";
import { acknowledge, unacknowledge } from "../health/checks/acknowledgements.ts";
import { partnerOverview, systemOverview } from "../health/overview/overview.ts";
import { bindContract } from "../http/bind.ts";
import { answeringByContract, type ConsoleRoutes } from "./answers.ts";
import { consoleCaller, partnerCaller } from "./authorize.ts";
import { type ConsoleContext, createLongReads, type LongReads, type LongRequest } from "./context.ts";
import { deliveryRoutes, liveRoutes, resendRoutes, systemResendRoutes } from "./deliveries-routes.ts";
import { exportRoutes } from "./exports-routes.ts";
import { descriptionRoutes, feedQualityRoutes, feedRoutes, importRoutes, uploadRoutes } from "./feeds-routes.ts";
import { alertRoutes, fleetRoutes } from "./fleet-routes.ts";
import { partnerKeyRoutes, systemKeyRoutes } from "./keys-routes.ts";
import { partnerAuditRoutes, partnerRequestRoutes, systemAuditRoutes, systemRequestRoutes } from "./log-routes.ts";
import { agencyRoutes, partnerRoutes } from "./partners-routes.ts";
import { operatorPeopleRoutes, partnerPeopleRoutes } from "./people-routes.ts";
import { providerRoutes } from "./provider-routes.ts";
import { partnerSandboxRoutes } from "./sandbox-routes.ts";
import { search } from "./search/service.ts";
import {
  accountRoutes,
  embeddedSessionRoutes,
  invitationRoutes,
  sessionRoutes,
  signInRoutes,
} from "./session-routes.ts";
import { partnerSumsRoutes, stationRoutesOf, systemSumsRoutes } from "./stations-routes.ts";
import { endpointRoutes, webhookRoutes } from "./webhook-routes.ts";

/**
 * Serves the API of the dashboard's pages. When the server is ready, continues undos of imports that an ended process left
 * behind. Before it closes, interrupts undos, and ends the live streams, which would stay open.
 */
export function serveConsole(http: FastifyInstance, context: ConsoleContext, reads: RideContext): void {
  http.addHook("onReady", (done) => {
    context.undos.resume();
    done();
  });
  http.addHook("preClose", async () => {
    await Promise.all([context.live.close(), context.undos.close()]);
  });
  bindContract(http, consoleContract, answeringByContract(consoleContract, consoleRoutes(context, reads)));
}

/** Returns the handlers of all console endpoints. Each area has its own file. */
function consoleRoutes(context: ConsoleContext, reads: RideContext): ConsoleRoutes {
  const longReads = createLongReads(reads.filtered);
  const provider = providerRoutes(context);
  return {
    session: { ...sessionRoutes(context), ...provider.session },
    signIn: { ...signInRoutes(context), ...provider.signIn },
    invitations: invitationRoutes(context),
    embeddedSessions: embeddedSessionRoutes(context),
    account: { ...accountRoutes(context), ...provider.account },
    partnerPeople: partnerPeopleRoutes(context),
    operatorPeople: operatorPeopleRoutes(context),
    partnerOverview: partnerOverviewRoutes(context, longReads),
    systemOverview: systemOverviewRoutes(context, longReads),
    checks: checkRoutes(context),
    agency: agencyRoutes(context, reads, longReads),
    partnerSandbox: partnerSandboxRoutes(context),
    partnerKeys: partnerKeyRoutes(context),
    systemKeys: systemKeyRoutes(context),
    partnerRequests: partnerRequestRoutes(context, longReads),
    systemRequests: systemRequestRoutes(context, longReads),
    deliveries: deliveryRoutes(context, longReads),
    resends: resendRoutes(context, longReads),
    systemResends: systemResendRoutes(context, longReads),
    live: liveRoutes(context),
    partners: partnerRoutes(context, longReads),
    partnerAudit: partnerAuditRoutes(context, longReads),
    systemAudit: systemAuditRoutes(context, longReads),
    fleet: fleetRoutes(context, reads, longReads),
    imports: importRoutes(context),
    uploads: uploadRoutes(context),
    exports: exportRoutes(context, context.files),
    feeds: feedRoutes(context, longReads),
    feedQuality: feedQualityRoutes(context),
    descriptions: descriptionRoutes(context),
    alerts: alertRoutes(context, longReads),
    ...stationRoutesOf(context, reads.filtered),
    partnerSums: partnerSumsRoutes(context, longReads),
    systemSums: systemSumsRoutes(context, longReads),
    partnerSearch: partnerSearchRoutes(longReads),
    systemSearch: systemSearchRoutes(longReads),
    webhook: webhookRoutes(context, longReads),
    endpoints: endpointRoutes(context, longReads),
  };
}

/** Routes with which the operator acknowledges problems that checks found, and ends acknowledgements. */
function checkRoutes(context: ConsoleContext): ConsoleRoutes["checks"] {
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

/** Routes of a partner's overview. */
function partnerOverviewRoutes(context: ConsoleContext, longReads: LongReads): ConsoleRoutes["partnerOverview"] {
  return {
    get: async ({ request }) => ({
      status: 200,
      body: await longReads.hold(request, () => partnerOverview(context, partnerCaller(request))),
    }),
  };
}

/** Routes of the operator's overview. */
function systemOverviewRoutes(context: ConsoleContext, longReads: LongReads): ConsoleRoutes["systemOverview"] {
  return {
    get: async ({ request }) => ({
      status: 200,
      body: await longReads.hold(request, () => systemOverview(context, consoleCaller(request).systemId)),
    }),
  };
}

/** Routes of a partner's search. */
function partnerSearchRoutes(longReads: LongReads): ConsoleRoutes["partnerSearch"] {
  return { search: searchRoute(longReads) };
}

/** Routes of the operator's search. */
function systemSearchRoutes(longReads: LongReads): ConsoleRoutes["systemSearch"] {
  return { search: searchRoute(longReads) };
}

function searchRoute(longReads: LongReads) {
  return async ({ query, request }: { readonly query: { readonly q: string }; readonly request: LongRequest }) => {
    const data = await search(longReads.databaseFor(request), consoleCaller(request), query.q);
    return { status: 200 as const, body: { data } };
  };
}
