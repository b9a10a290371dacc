/**
 * The API that the dashboard's pages call, with a session instead of a key. It is not part of the partners' or the
 * operator's interface: it changes with the pages, and no OpenAPI document contains it.
 */
import { initContract } from "@ts-rest/core";
import { accountEndpoints } from "./console/account.ts";
import { agencyEndpoints } from "./console/agencies.ts";
import { alertEndpoints } from "./console/alerts.ts";
import { partnerAuditEndpoints, systemAuditEndpoints } from "./console/audit.ts";
import { checkEndpoints } from "./console/checks.ts";
import { deliveryEndpoints } from "./console/deliveries.ts";
import { descriptionEndpoints } from "./console/descriptions.ts";
import { embeddedSessionEndpoints } from "./console/embedded.ts";
import { systemEndpoints } from "./console/endpoints.ts";
import { exportEndpoints } from "./console/exports.ts";
import { feedQualityEndpoints } from "./console/feed-quality.ts";
import { feedEndpoints } from "./console/feeds.ts";
import { fleetEndpoints } from "./console/fleet.ts";
import { importEndpoints } from "./console/imports.ts";
import { partnerKeyEndpoints, systemKeyEndpoints } from "./console/keys.ts";
import { liveStreamEndpoints } from "./console/live.ts";
import { partnerOverviewEndpoints, systemOverviewEndpoints } from "./console/overview.ts";
import { partnerEndpoints } from "./console/partners.ts";
import { operatorPeopleEndpoints, partnerPeopleEndpoints } from "./console/people.ts";
import { partnerRequestEndpoints, systemRequestEndpoints } from "./console/requests.ts";
import { resendEndpoints, systemResendEndpoints } from "./console/resends.ts";
import { partnerSandboxEndpoints } from "./console/sandbox.ts";
import { partnerSearchEndpoints, systemSearchEndpoints } from "./console/search.ts";
import { sessionEndpoints } from "./console/session.ts";
import { invitationEndpoints, signInEndpoints } from "./console/sign-in.ts";
import { partnerStationEndpoints, systemStationEndpoints } from "./console/stations.ts";
import { partnerSumsEndpoints, systemSumsEndpoints } from "./console/sums.ts";
import { uploadEndpoints } from "./console/uploads.ts";
import { webhookEndpoints } from "./console/webhook.ts";

export { consoleNeeds } from "./console/endpoint.ts";
export * from "./console/account.ts";
export type { RequirementAnswers, ShownAgency } from "./console/agencies.ts";
export type { AuditQuery, ShownAct } from "./console/audit.ts";
export * from "./console/credentials.ts";
export { MAX_UPLOAD_BYTES, MAX_UPLOAD_TEXT_BYTES, type ShownUpload, type UploadResult } from "./console/uploads.ts";
export type { ShownExport, ShownExportSchedule } from "./console/exports.ts";
export type { FeedQuality } from "./console/feed-quality.ts";
export * from "./console/feed-report.ts";
export { type SignInNotice, signInNotice } from "./console/identity-provider.ts";
export type {
  DeliveriesOverTime,
  Delivery,
  DeliveryAttempt,
  DeliveryCause,
  DeliveryDetail,
  DeliveryFilters,
  DeliveryStatus,
  ShownBytes,
} from "./console/deliveries.ts";
export type { EndpointSummary } from "./console/endpoints.ts";
export type {
  EventDescription,
  NewWebhook,
  Probe,
  ProbeStep,
  Webhook,
  WebhookPlaces,
  WebhookPreview,
  WebhookSettings,
} from "./console/webhook.ts";
export type { DeliveriesChanged, LiveTopic } from "./console/live.ts";
export type { BulkResend, ResendSelection } from "./console/resends.ts";
export type {
  BikeQuery,
  FleetNames,
  FleetReservation,
  FreeBikes,
  HistoryQuery,
  ResourceEvent,
  ReservationQuery,
  RideQuery,
  StationChange,
} from "./console/fleet.ts";
export { MAX_MAPPED_BIKES } from "./console/fleet.ts";
export type { DescribedFactsOfKind } from "./console/descriptions.ts";
export type { FeedSource, FollowedFeed } from "./console/feeds.ts";
export type { ImportDetail, ImportReportEntry, ShownImport } from "./console/imports.ts";
export { type KeyAllowance, keyAllowance, type ShownAllowance, type ShownKey } from "./console/keys.ts";
export { MAX_OWN_KEY_DAYS, MAX_OWN_KEYS, MAX_RATE_LIMIT } from "./limits.ts";
export type { ShownPartner } from "./console/partners.ts";
export type {
  FeedAge,
  KeyLoad,
  PartnerOverview,
  RequestCounts,
  ShownCheck,
  SystemOverview,
} from "./console/overview.ts";
export type {
  DaysQuery,
  LoggedRequest,
  MinutesQuery,
  RequestDetail,
  RequestQuery,
  UsageOverTime,
  UsageOverTimeQuery,
} from "./console/requests.ts";
export { type IssuedInvitation, issuedInvitation, type MemberList, memberList } from "./console/people.ts";
export type { FoundEntry } from "./console/search.ts";
export { MAX_SANDBOX_HAPPENINGS, type SandboxActivity } from "./console/sandbox.ts";
export * from "./console/session.ts";
export * from "./console/sign-in.ts";
export type { MappedStation, StationMap } from "./console/stations.ts";
export { stationMap } from "./console/stations.ts";
export type {
  ConsoleSummary,
  ConsoleSummaryQuery,
  Glance,
  LastingStation,
  RecentFlows,
  StationFlows,
  StationFlowsQuery,
  StationSums,
  StationSumsList,
  StationSumsQuery,
  StationWeek,
} from "./console/sums.ts";

const c = initContract();

/** The type of `consoleContract`. It is declared, because TypeScript refuses to emit an inferred type of this length. */
type ConsoleContract = {
  readonly session: typeof sessionEndpoints;
  readonly signIn: typeof signInEndpoints;
  readonly invitations: typeof invitationEndpoints;
  readonly embeddedSessions: typeof embeddedSessionEndpoints;
  readonly account: typeof accountEndpoints;
  readonly partnerPeople: typeof partnerPeopleEndpoints;
  readonly operatorPeople: typeof operatorPeopleEndpoints;
  readonly partnerOverview: typeof partnerOverviewEndpoints;
  readonly systemOverview: typeof systemOverviewEndpoints;
  readonly checks: typeof checkEndpoints;
  readonly agency: typeof agencyEndpoints;
  readonly partnerSandbox: typeof partnerSandboxEndpoints;
  readonly partnerKeys: typeof partnerKeyEndpoints;
  readonly systemKeys: typeof systemKeyEndpoints;
  readonly partnerRequests: typeof partnerRequestEndpoints;
  readonly systemRequests: typeof systemRequestEndpoints;
  readonly deliveries: typeof deliveryEndpoints;
  readonly resends: typeof resendEndpoints;
  readonly systemResends: typeof systemResendEndpoints;
  readonly live: typeof liveStreamEndpoints;
  readonly partners: typeof partnerEndpoints;
  readonly partnerAudit: typeof partnerAuditEndpoints;
  readonly systemAudit: typeof systemAuditEndpoints;
  readonly fleet: typeof fleetEndpoints;
  readonly imports: typeof importEndpoints;
  readonly uploads: typeof uploadEndpoints;
  readonly exports: typeof exportEndpoints;
  readonly feeds: typeof feedEndpoints;
  readonly feedQuality: typeof feedQualityEndpoints;
  readonly descriptions: typeof descriptionEndpoints;
  readonly alerts: typeof alertEndpoints;
  readonly partnerStations: typeof partnerStationEndpoints;
  readonly systemStations: typeof systemStationEndpoints;
  readonly partnerSums: typeof partnerSumsEndpoints;
  readonly systemSums: typeof systemSumsEndpoints;
  readonly partnerSearch: typeof partnerSearchEndpoints;
  readonly systemSearch: typeof systemSearchEndpoints;
  readonly webhook: typeof webhookEndpoints;
  readonly endpoints: typeof systemEndpoints;
};

/** Every endpoint of the console. */
export const consoleContract: ConsoleContract = c.router(
  {
    session: sessionEndpoints,
    signIn: signInEndpoints,
    invitations: invitationEndpoints,
    embeddedSessions: embeddedSessionEndpoints,
    account: accountEndpoints,
    partnerPeople: partnerPeopleEndpoints,
    operatorPeople: operatorPeopleEndpoints,
    partnerOverview: partnerOverviewEndpoints,
    systemOverview: systemOverviewEndpoints,
    checks: checkEndpoints,
    agency: agencyEndpoints,
    partnerSandbox: partnerSandboxEndpoints,
    partnerKeys: partnerKeyEndpoints,
    systemKeys: systemKeyEndpoints,
    partnerRequests: partnerRequestEndpoints,
    systemRequests: systemRequestEndpoints,
    deliveries: deliveryEndpoints,
    resends: resendEndpoints,
    systemResends: systemResendEndpoints,
    live: liveStreamEndpoints,
    partners: partnerEndpoints,
    partnerAudit: partnerAuditEndpoints,
    systemAudit: systemAuditEndpoints,
    fleet: fleetEndpoints,
    imports: importEndpoints,
    uploads: uploadEndpoints,
    exports: exportEndpoints,
    feeds: feedEndpoints,
    feedQuality: feedQualityEndpoints,
    descriptions: descriptionEndpoints,
    alerts: alertEndpoints,
    partnerStations: partnerStationEndpoints,
    systemStations: systemStationEndpoints,
    partnerSums: partnerSumsEndpoints,
    systemSums: systemSumsEndpoints,
    partnerSearch: partnerSearchEndpoints,
    systemSearch: systemSearchEndpoints,
    webhook: webhookEndpoints,
    endpoints: systemEndpoints,
  },
  { strictStatusCodes: true },
);
