import { consoleContract } from "@bikeshare/contract/console";
import type { FastifyInstance } from "fastify";
import type { RideContext } from "../city/rides/service.ts";
import { bindContract } from "../http/bind.ts";
import { accountRoutes } from "./account-routes.ts";
import { answeringByContract, type ConsoleRoutes } from "./answers.ts";
import { partnerAuditRoutes, systemAuditRoutes } from "./audit-routes.ts";
import type { ConsoleContext } from "./context.ts";
import { deliveryRoutes } from "./deliveries-routes.ts";
import { descriptionRoutes } from "./descriptions-routes.ts";
import { embeddedSessionRoutes } from "./embedded-routes.ts";
import { endpointRoutes } from "./endpoints-routes.ts";
import { feedRoutes } from "./feeds-routes.ts";
import { fleetRoutes } from "./fleet-routes.ts";
import { importRoutes } from "./imports-routes.ts";
import { partnerKeyRoutes, systemKeyRoutes } from "./keys-routes.ts";
import { liveRoutes } from "./live-routes.ts";
import { createLongReads } from "./long-reads.ts";
import { checkRoutes, partnerOverviewRoutes, systemOverviewRoutes } from "./overview-routes.ts";
import { partnerRoutes } from "./partners-routes.ts";
import { operatorPeopleRoutes, partnerPeopleRoutes } from "./people-routes.ts";
import { providerRoutes } from "./provider-routes.ts";
import { partnerRequestRoutes, systemRequestRoutes } from "./requests-routes.ts";
import { resendRoutes, systemResendRoutes } from "./resend-routes.ts";
import { partnerSearchRoutes, systemSearchRoutes } from "./search-routes.ts";
import { sessionRoutes } from "./session-routes.ts";
import { invitationRoutes, signInRoutes } from "./sign-in-routes.ts";
import { partnerStationRoutes, stationMapOf, systemStationRoutes } from "./stations-routes.ts";
import { webhookRoutes } from "./webhook-routes.ts";

/** Serves what the pages of the dashboard ask for. Its streams stay open until they are ended. */
export function serveConsole(http: FastifyInstance, context: ConsoleContext, reads: RideContext): void {
  http.addHook("preClose", async () => {
    await Promise.all([context.live.close(), context.undos.close()]);
  });
  bindContract(http, consoleContract, answeringByContract(consoleContract, consoleRoutes(context, reads)));
}

/** Every endpoint of the console, each area's from its own file. */
function consoleRoutes(context: ConsoleContext, reads: RideContext): ConsoleRoutes {
  const mapOf = stationMapOf(context);
  const long = createLongReads(reads.filtered);
  const provider = providerRoutes(context);
  return {
    session: { ...sessionRoutes(context), ...provider.session },
    signIn: { ...signInRoutes(context), ...provider.signIn },
    invitations: invitationRoutes(context),
    embeddedSessions: embeddedSessionRoutes(context),
    account: { ...accountRoutes(context), ...provider.account },
    partnerPeople: partnerPeopleRoutes(context),
    operatorPeople: operatorPeopleRoutes(context),
    partnerOverview: partnerOverviewRoutes(context, long),
    systemOverview: systemOverviewRoutes(context, long),
    checks: checkRoutes(context),
    partnerKeys: partnerKeyRoutes(context),
    systemKeys: systemKeyRoutes(context),
    partnerRequests: partnerRequestRoutes(context, long),
    systemRequests: systemRequestRoutes(context, long),
    deliveries: deliveryRoutes(context, long),
    resends: resendRoutes(context, long),
    systemResends: systemResendRoutes(context, long),
    live: liveRoutes(context),
    partners: partnerRoutes(context, long),
    partnerAudit: partnerAuditRoutes(context, long),
    systemAudit: systemAuditRoutes(context, long),
    fleet: fleetRoutes(context, reads, long),
    imports: importRoutes(context),
    feeds: feedRoutes(context, long),
    descriptions: descriptionRoutes(context),
    partnerStations: partnerStationRoutes(mapOf),
    systemStations: systemStationRoutes(mapOf),
    partnerSearch: partnerSearchRoutes(long),
    systemSearch: systemSearchRoutes(long),
    webhook: webhookRoutes(context, long),
    endpoints: endpointRoutes(context, long),
  };
}
