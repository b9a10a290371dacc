import type { Problem } from "@bikeshare/contract/console";
import { addressIn, type Scope } from "../scope.ts";

/** Pages that the operator sees for each partner apart. */
const PARTNER_PAGES: readonly Problem["link"]["page"][] = ["webhook", "deliveries"];

/** Where a problem is seen and put right. */
export function problemAddress(
  { link: { page, query }, partner_id: partnerId }: Pick<Problem, "link" | "partner_id">,
  scope: Pick<Scope, "systemId" | "partnerId" | "isFirstSystem">,
): string {
  const isOfPartner = scope.partnerId === undefined && partnerId !== null && PARTNER_PAGES.includes(page);
  return addressIn(isOfPartner ? { ...scope, partnerId } : scope, page, query);
}

/** What the link to a problem says. */
export const problemLinks: Readonly<Record<Problem["link"]["page"], string>> = {
  overview: "Overview",
  webhook: "Open the webhook",
  deliveries: "Show these deliveries",
  keys: "Show the key",
  requests: "Show these requests",
  feeds: "Show the feeds",
  rides: "Show these rides",
};
