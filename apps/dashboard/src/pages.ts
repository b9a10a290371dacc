/** Every page: its address, title, audience and module. */
import { isEmbedded } from "./embedding.ts";
import { operatorPages } from "./operator-pages.ts";
import type { Page } from "./page.ts";
import { partnerPages } from "./partner-pages.ts";

/** A page that shows the common components with their states. Only development builds have it. */
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

/** Every page, in the order of the navigation. */
const allPages: readonly Page[] = [
  ...partnerPages,
  ...operatorPages,
  ...account,
  ...(import.meta.env.DEV ? [examples] : []),
];

/**
 * The available pages. In a frame of the operator's portal: only a partner's pages, without those about accounts and those
 * that lead to another system.
 */
export const pages: readonly Page[] = isEmbedded
  ? allPages.filter((page) => page.audience === "partner" && !page.isAboutAccounts && !page.leadsElsewhere)
  : allPages;

/** Returns the page at an address such as `/partners/partner_1/overview`. */
export function pageAt(path: string): Page | undefined {
  return pages.find((page) => new RegExp(`^${page.path.replaceAll(/:\w+/g, "[^/]+")}$`).test(path));
}
