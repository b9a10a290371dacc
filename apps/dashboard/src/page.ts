/** Describes a page of the dashboard, and the kinds of ids by which the palette (the search box) finds pages. */
import type { ComponentType } from "preact";
import type { IconName } from "./components/icon.tsx";

/** The headings of the operator's navigation, in their order. */
export const navigationGroups = ["City", "Partners", "Data", "Administration"] as const;
type NavigationGroup = (typeof navigationGroups)[number];

/** A page of the dashboard. The lists in pages.ts, partner-pages.ts and operator-pages.ts have all of them. */
export interface Page {
  /** The path below /dashboard, with parameters as `:name`. */
  readonly path: string;
  readonly title: string;
  /** Who may open the page. `public`: everybody, without a session. `person`: everybody who is signed in. */
  readonly audience: "public" | "person" | "partner" | "operator";
  /** Whether the navigation lists the page. */
  readonly isListed?: boolean;
  /** Whether the navigation lists the page only for partners that are agencies. */
  readonly isForAgencies?: boolean;
  /** The heading under which the operator's navigation lists the page. */
  readonly group?: NavigationGroup;
  readonly icon?: IconName;
  /** The key that opens the page when pressed after `g`. */
  readonly letter?: string;
  /** For the page of one item: the path of the list with that item. A wide window shows the list beside the page. */
  readonly list?: string;
  /** Whether the page is about accounts. Frames of the operator's portal and the navigation of a sandbox omit such pages. */
  readonly isAboutAccounts?: boolean;
  /** Whether the page leads to another system. Frames omit it, because their session may open only one system. */
  readonly leadsElsewhere?: boolean;
  /** The kinds of ids that this page shows. The palette leads to it when such an id is typed. */
  readonly finds?: readonly IdKind[];
  /** Views of the page that the palette suggests when the reader types one of their words. */
  readonly views?: readonly View[];
  /** The path, below /docs, of the guide about the page, perhaps with an anchor: `errors`. */
  readonly guide?: string;
  readonly load: () => Promise<ComponentType>;
}

/** A suggestion of the palette: the page with filters set, or the whole page under words for what it contains. */
interface View {
  readonly title: string;
  /** Words besides the title by which the view is found, with spaces between them. */
  readonly words: string;
  /** The filters. Undefined: the page without filters. */
  readonly query?: Readonly<Record<string, string>>;
}

/**
 * A kind of id that the service generates, recognised by its form. Ids that the operator chooses have no fixed form, so the
 * palette searches for them on the server.
 */
export interface IdKind {
  /** The name of a thing that has such an id: "Delivery". */
  readonly label: string;
  readonly pattern: RegExp;
  /** Returns the address of the item, from the page's address. */
  readonly address: (page: string, id: string) => string;
}

/** The page of keys opens an API key in a panel, so a parameter of the address names the key. */
export const keyId: IdKind = {
  label: "Key",
  pattern: /^key_\w+$/,
  address: (page, id) => withParameter(page, "key", id),
};

/** The page of requests opens a request in a panel, as the page of keys does. */
export const requestId: IdKind = {
  label: "Request",
  pattern: /^req_\w+$/,
  address: (page, id) => withParameter(page, "request", id),
};

/* Deliveries and imports have pages of their own. */
export const deliveryId = ownPage("Delivery", /^delivery_\w+$/);
export const importId = ownPage("Import", /^(import|gbfs)_\w+$/);

/** Returns a kind of id whose pages are below their list: `…/rides/<id>`. */
function ownPage(label: string, pattern: RegExp): IdKind {
  // The id comes before the query, which may name the system.
  return { label, pattern, address: (page, id) => page.replace(/(?=\?|$)/, `/${encodeURIComponent(id)}`) };
}

/** Recognises an endpoint of the service's interfaces: `/v1/rides` or `GET /v1/rides`. */
export const route: IdKind = {
  label: "Endpoint",
  pattern: /^(?:(?:get|post|put|patch|delete)\s+)?\/[\w/{}:.-]+$/i,
  address: (page, id) => withParameter(page, "q", id),
};

/**
 * Returns an address with a parameter added to its query. (`withParameter` in pages/scope.ts changes
 * `URLSearchParams`.)
 */
export function withParameter(address: string, name: string, value: string): string {
  return `${address}${address.includes("?") ? "&" : "?"}${name}=${encodeURIComponent(value)}`;
}
