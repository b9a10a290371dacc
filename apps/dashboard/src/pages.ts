/** Every page: its address, title, audience and module. */
import { isEmbedded } from "./embedding.ts";
import { operatorPages } from "./operator-pages.ts";
import { deliveryId, keyId, type Page, requestId, route } from "./page.ts";

/** Shows each component with its states. It is not shipped. */
const examples: Page = {
  path: "/_components",
  title: "Components",
  audience: "public",
  load: async () => (await import("./pages/examples/components-page.tsx")).ComponentsPage,
};

const account: readonly Page[] = [
  {
    path: "/sign-in",
    title: "Sign in",
    audience: "public",
    load: async () => (await import("./pages/account/sign-in-page.tsx")).SignInPage,
  },
  {
    path: "/invitation",
    title: "Invitation",
    audience: "public",
    load: async () => (await import("./pages/account/invitation-page.tsx")).InvitationPage,
  },
  {
    path: "/account",
    title: "Account",
    audience: "person",
    guide: "dashboard",
    load: async () => (await import("./pages/account/account-page.tsx")).AccountPage,
  },
];

const stations: readonly Page[] = [
  {
    path: "/partners/:partner_id/stations",
    title: "Stations",
    audience: "partner",
    guide: "following-changes",
    isListed: true,
    load: async () => (await import("./pages/stations/stations-page.tsx")).PartnerStationsPage,
  },
  {
    path: "/operator/stations",
    title: "Stations",
    audience: "operator",
    isListed: true,
    load: async () => (await import("./pages/stations/stations-page.tsx")).OperatorStationsPage,
  },
];

const audit: Page = {
  path: "/partners/:partner_id/audit",
  title: "Audit log",
  audience: "partner",
  guide: "dashboard",
  isListed: true,
  load: async () => (await import("./pages/audit/audit-page.tsx")).PartnerAuditPage,
};

/** The pages about people. They come last, because they are used least often. */
const people: readonly Page[] = [
  {
    path: "/partners/:partner_id/people",
    title: "People",
    audience: "partner",
    guide: "dashboard",
    isListed: true,
    isAboutAccounts: true,
    load: async () => (await import("./pages/account/people-page.tsx")).PartnerPeoplePage,
  },
  {
    path: "/operator/people",
    title: "People",
    audience: "operator",
    isListed: true,
    load: async () => (await import("./pages/account/people-page.tsx")).OperatorPeoplePage,
  },
];

const webhooks: readonly Page[] = [
  {
    path: "/partners/:partner_id/webhook",
    title: "Webhook",
    audience: "partner",
    guide: "receiving-webhooks",
    isListed: true,
    views: [{ title: "Signing secrets", words: "signature verify hmac" }],
    load: async () => (await import("./pages/webhook/webhook-page.tsx")).WebhookPage,
  },
  {
    path: "/operator/endpoints",
    title: "Endpoints",
    audience: "operator",
    isListed: true,
    views: [{ title: "Endpoints", words: "webhooks signature secrets held paused" }],
    load: async () => (await import("./pages/operator/endpoints-page.tsx")).EndpointsPage,
  },
  {
    path: "/operator/endpoints/:partner_id",
    title: "Endpoint",
    audience: "operator",
    load: async () => (await import("./pages/webhook/operator-webhook-page.tsx")).OperatorWebhookPage,
  },
];

const deliveries: readonly Page[] = [
  {
    path: "/partners/:partner_id/deliveries",
    title: "Deliveries",
    audience: "partner",
    guide: "receiving-webhooks#retries-and-pauses",
    isListed: true,
    finds: [deliveryId],
    views: [
      { title: "Failed deliveries", words: "failing", query: { status: "unsuccessful" } },
      { title: "Held deliveries", words: "paused", query: { status: "held" } },
    ],
    load: async () => (await import("./pages/deliveries/deliveries-page.tsx")).DeliveriesPage,
  },
  {
    path: "/partners/:partner_id/deliveries/:id",
    title: "Delivery",
    audience: "partner",
    guide: "receiving-webhooks#when-it-does-not-work",
    load: async () => (await import("./pages/deliveries/delivery-page.tsx")).DeliveryPage,
  },
];

const overviews: readonly Page[] = [
  {
    path: "/partners/:partner_id/overview",
    title: "Overview",
    audience: "partner",
    guide: "dashboard",
    isListed: true,
    load: async () => (await import("./pages/overview/overview-page.tsx")).PartnerOverviewPage,
  },
  {
    path: "/operator/overview",
    title: "Overview",
    audience: "operator",
    isListed: true,
    load: async () => (await import("./pages/overview/operator-overview-page.tsx")).OperatorOverviewPage,
  },
];

const keysAndRequests: readonly Page[] = [
  {
    path: "/partners/:partner_id/keys",
    title: "Keys",
    audience: "partner",
    guide: "limits",
    isListed: true,
    finds: [keyId],
    load: async () => (await import("./pages/keys/keys-page.tsx")).PartnerKeysPage,
  },
  {
    path: "/partners/:partner_id/requests",
    title: "Requests",
    audience: "partner",
    guide: "errors",
    isListed: true,
    finds: [requestId],
    load: async () => (await import("./pages/requests/requests-page.tsx")).PartnerRequestsPage,
  },
  {
    path: "/operator/keys",
    title: "Keys",
    audience: "operator",
    isListed: true,
    finds: [keyId],
    load: async () => (await import("./pages/keys/keys-page.tsx")).OperatorKeysPage,
  },
  {
    path: "/operator/requests",
    title: "Requests",
    audience: "operator",
    isListed: true,
    finds: [requestId],
    load: async () => (await import("./pages/requests/requests-page.tsx")).OperatorRequestsPage,
  },
];

const references: readonly Page[] = [
  {
    path: "/partners/:partner_id/api",
    title: "API reference",
    audience: "partner",
    isListed: true,
    finds: [route],
    load: async () => (await import("./pages/reference/reference-page.tsx")).PartnerReferencePage,
  },
  {
    path: "/operator/api",
    title: "API reference",
    audience: "operator",
    isListed: true,
    finds: [route],
    load: async () => (await import("./pages/reference/reference-page.tsx")).OperatorReferencePage,
  },
];

/** In the order of the navigation. */
const allPages: readonly Page[] = [
  ...overviews,
  ...webhooks,
  ...deliveries,
  ...keysAndRequests,
  ...stations,
  ...operatorPages,
  ...references,
  audit,
  ...people,
  ...account,
  ...(import.meta.env.DEV ? [examples] : []),
];

/** Returns the page of an address: `/partners/partner_1/overview`. */
export function pageAt(path: string): Page | undefined {
  return pages.find((page) => new RegExp(`^${page.path.replaceAll(/:\w+/g, "[^/]+")}$`).test(path));
}

/** The pages there are: in a frame of the operator's portal the partner's, without those about accounts. */
export const pages: readonly Page[] = isEmbedded
  ? allPages.filter(({ audience, isAboutAccounts }) => audience === "partner" && isAboutAccounts !== true)
  : allPages;
