import type { ShownCheck } from "@bikeshare/contract/console";
import { addressIn, type Scope } from "../scope.ts";

type Page = NonNullable<ShownCheck["link"]>["page"];

/** Pages that the operator sees for each partner apart. */
const PARTNER_PAGES: readonly Page[] = ["webhook", "deliveries"];

/** Returns the address where a check's finding is shown and fixed; undefined: not on the dashboard. */
export function checkAddress(
  { link, partner_id: partnerId }: Pick<ShownCheck, "link" | "partner_id">,
  scope: Pick<Scope, "systemId" | "partnerId" | "isFirstSystem">,
): { readonly page: Page; readonly href: string } | undefined {
  if (link === null) return undefined;
  const { page, query } = link;
  const isOfPartner = scope.partnerId === undefined && partnerId !== null && PARTNER_PAGES.includes(page);
  return { page, href: addressIn(isOfPartner ? { ...scope, partnerId } : scope, page, query) };
}

/** The text of the link from a check to its page. */
export const checkLinks: Readonly<Record<Page, string>> = {
  overview: "Overview",
  webhook: "Open the webhook",
  deliveries: "Show these deliveries",
  keys: "Show the key",
  requests: "Show these requests",
  feeds: "Show the feeds",
  "feed-quality": "Show what planners lose",
  rides: "Show these rides",
};
