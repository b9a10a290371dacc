/** Every page: where it is, what it is called, who sees it, and the module that is loaded for it. */
import type { Membership } from "@bikeshare/contract/console";
import type { ComponentType } from "preact";

export interface Page {
  /** Below /dashboard; parameters as `:name`. */
  readonly path: string;
  readonly title: string;
  /** `public`: without a session. `person`: whoever is signed in. */
  readonly audience: "public" | "person" | "partner" | "operator";
  /** Whether the navigation lists it, in the order of this table. */
  readonly isListed?: boolean;
  readonly load: () => Promise<ComponentType>;
}

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
    load: async () => (await import("./pages/account/account-page.tsx")).AccountPage,
  },
];

export const pages: readonly Page[] = [...(import.meta.env.DEV ? [examples] : []), ...account];

/** The address of a page for one membership. In other systems than the first, pages name theirs. */
export function pageAddress({ path }: Page, membership: Membership, memberships: readonly Membership[]): string {
  const address = path.replace(":partner_id", encodeURIComponent(membership.partner_id ?? ""));
  const first = memberships.find(({ partner_id }) => partner_id === membership.partner_id);
  return first?.system_id === membership.system_id
    ? address
    : `${address}?system=${encodeURIComponent(membership.system_id)}`;
}

/** The pages that the navigation lists for a membership. */
export function listedPages({ partner_id }: Pick<Membership, "partner_id">): readonly Page[] {
  const audience = partner_id === null ? "operator" : "partner";
  return pages.filter((page) => page.isListed === true && page.audience === audience);
}
