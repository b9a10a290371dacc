/**
 * Computes the pages of a membership: their addresses, and the entries of the navigation. A membership lets a person read or
 * change one system's data, for a partner or (with `partner_id` null) for the operator.
 */
import type { Membership } from "@bikeshare/contract/console";
import type { Page } from "./page.ts";
import { pages } from "./pages.ts";

/**
 * Returns the address of a page for one membership. The address names the system unless it is the first one of this partner
 * or operator.
 */
export function pageAddress({ path }: Page, membership: Membership, memberships: readonly Membership[]): string {
  const address = path.replace(":partner_id", encodeURIComponent(membership.partner_id ?? ""));
  const first = memberships.find(({ partner_id }) => partner_id === membership.partner_id);
  return first?.system_id === membership.system_id
    ? address
    : `${address}?system=${encodeURIComponent(membership.system_id)}`;
}

type ListedFor = Pick<Membership, "partner_id"> & Partial<Pick<Membership, "is_agency" | "is_sandbox">>;

/**
 * Returns the pages that the navigation lists for a membership. A sandbox has the people of its partner, who are managed at
 * the partner's own pages.
 */
export function listedPages({ partner_id, is_agency = false, is_sandbox = false }: ListedFor): readonly Page[] {
  const audience = partner_id === null ? "operator" : "partner";
  return pages.filter(
    (page) =>
      page.isListed === true &&
      page.audience === audience &&
      (page.isForAgencies !== true || is_agency) &&
      (page.isAboutAccounts !== true || !is_sandbox),
  );
}

/** Returns a short name of a membership. */
export function membershipName({ partner_name, system_name, is_sandbox }: Membership): string {
  if (is_sandbox) return `${partner_name ?? ""}: sandbox`;
  return partner_name ?? `${system_name}: operator`;
}
