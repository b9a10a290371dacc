import type { ShownCheck } from "@bikeshare/contract/console";
import { addressIn, type PageScope } from "../scope.ts";

type Page = NonNullable<ShownCheck["link"]>["page"];

/** Pages that exist for each partner alone. The operator sees them at that partner's address. */
const PARTNER_PAGES: readonly Page[] = ["webhook", "deliveries"];

/** Returns the page on which a check's problem is shown and fixed; undefined: the dashboard has no such page. */
export function checkAddress(
  { link, partner_id: partnerId }: Pick<ShownCheck, "link" | "partner_id">,
  scope: Pick<PageScope, "systemId" | "partnerId" | "isFirstSystem">,
): { readonly page: Page; readonly href: string } | undefined {
  if (link === null) return undefined;
  const { page, query } = link;
  const isOperatorsPage = scope.partnerId === undefined;
  const leadsToPartner = isOperatorsPage && partnerId !== null && PARTNER_PAGES.includes(page);
  return { page, href: addressIn(leadsToPartner ? { ...scope, partnerId } : scope, page, query) };
}

/** The texts of the links from a check to a page. */
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
