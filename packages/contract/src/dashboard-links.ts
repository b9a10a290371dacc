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
        .describe("The viewer's name in your portal, such as a mail address; the audit log records it"),
      role: extendApi(z.enum(["viewer", "admin"]).optional().describe("Default `viewer`, which can only read"), {
        default: "viewer",
      }),
      page: z
        .string()
        .max(MAX_PAGE_LENGTH, issueText("tooLong", { limit: MAX_PAGE_LENGTH }))
        .regex(/^[a-z]+(?:\/[\w-]+)?(?:\?[\w=&%.:+-]*)?$/, issueText("partnerPage"))
        .optional()
        .describe("The page to open: the end of its address, such as `deliveries?status=failed`. Default `overview`"),
    })
    .strict(),
  { title: "DashboardLinkRequest" },
);
export type DashboardLinkRequest = z.infer<typeof dashboardLinkRequest>;

/** A link that opens a partner's pages in a frame. */
export const dashboardLink = namedObject(
  "DashboardLink",
  "A link that opens a partner's pages once, in a frame of your portal.",
  {
    id: identifier,
    url: z
      .string()
      .describe("Address for the frame. Anybody who has it can open the pages: give it to the viewer's browser only"),
    expires_at: timestamp.describe("When an unopened link expires"),
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
      `Creates a link that opens the partner's pages once, within ${DASHBOARD_LINK_MINUTES} minutes, in a frame of your ` +
      `portal; the pages then work for ${EMBEDDED_SESSION_MINUTES} minutes. They never show accounts, secrets or new ` +
      "keys, whatever the role. The setting `DASHBOARD_FRAME_ANCESTORS` must list your portal's origin. Your portal " +
      "decides who may view the pages.",
    metadata: { scope: "operator", idempotent: true, conflicts: ["conflict", "idempotency_in_progress"] },
    headers: idempotencyHeaders,
    pathParams: idParam,
    query: noQuery,
    body: dashboardLinkRequest,
    responses: { 200: dashboardLink, 404: errorBody, ...bodyErrors, ...errors },
  },
} as const;
