import { extendApi } from "@anatine/zod-openapi";
import { z } from "zod";
import { bodyErrors, errors, idParam, noQuery } from "./endpoint.ts";
import { errorBody } from "./errors.ts";
import { idempotencyHeaders } from "./idempotency.ts";
import { issueText } from "./messages.ts";
import { namedObject } from "./named-object.ts";
import { isPlainName } from "./text-rules.ts";
import { identifier, timestamp } from "./values.ts";

/** Minutes within which a link can be opened. Too low: it expires before the page loads. Too high: a logged link works. */
export const DASHBOARD_LINK_MINUTES = 5;
/** Minutes for which the pages work after a link was opened. Too high: a person who has left the portal still sees them. */
export const EMBEDDED_SESSION_MINUTES = 60;

const MAX_VIEWER_LENGTH = 200;
const MAX_PAGE_LENGTH = 300;

/** A request for a link: who looks, with which role, and at which page. */
export const dashboardLinkRequest = extendApi(
  z
    .object({
      viewer: z
        .string()
        .min(1, issueText("empty"))
        .max(MAX_VIEWER_LENGTH, issueText("tooLong", { limit: MAX_VIEWER_LENGTH }))
        .refine(isPlainName, issueText("plainName"))
        .describe("Who looks, as your portal knows them, such as a mail address. The audit log names them by it"),
      role: extendApi(z.enum(["viewer", "admin"]).optional().describe("Default `viewer`, who changes nothing"), {
        default: "viewer",
      }),
      page: z
        .string()
        .max(MAX_PAGE_LENGTH, issueText("tooLong", { limit: MAX_PAGE_LENGTH }))
        .regex(/^[a-z]+(?:\/[\w-]+)?(?:\?[\w=&%.:+-]*)?$/, issueText("partnerPage"))
        .optional()
        .describe("The partner's page to open, as its address ends: `deliveries?status=failed`. Default `overview`"),
    })
    .strict(),
  { title: "DashboardLinkRequest" },
);
export type DashboardLinkRequest = z.infer<typeof dashboardLinkRequest>;

/** A link that opens a partner's pages in a frame. */
export const dashboardLink = namedObject(
  "DashboardLink",
  "A link that opens a partner's pages in a frame of your portal, once.",
  {
    id: identifier,
    url: z
      .string()
      .describe("The frame's address. Whoever has it sees the pages: give it to the viewer's browser only"),
    expires_at: timestamp.describe("When it can be opened no more"),
  },
);
export type DashboardLink = z.infer<typeof dashboardLink>;

/** The endpoint with which the operator's portal shows the dashboard in a frame. */
export const dashboardLinkEndpoints = {
  create: {
    method: "POST",
    path: "/operator/v1/partners/:id/dashboard_links",
    summary: "Show a partner's pages in a frame",
    description:
      `Makes a link that opens the partner's pages in a frame of your portal, once, within ${DASHBOARD_LINK_MINUTES} ` +
      `minutes; the pages then work for ${EMBEDDED_SESSION_MINUTES} minutes. Nothing of accounts, secrets and new keys ` +
      "is shown there, whatever the role. Your portal's origin must be allowed to show the dashboard: " +
      "`DASHBOARD_FRAME_ANCESTORS`. Who may look is for your portal to know.",
    metadata: { scope: "operator", idempotent: true, conflicts: ["conflict", "idempotency_in_progress"] },
    headers: idempotencyHeaders,
    pathParams: idParam,
    query: noQuery,
    body: dashboardLinkRequest,
    responses: { 200: dashboardLink, 404: errorBody, ...bodyErrors, ...errors },
  },
} as const;
