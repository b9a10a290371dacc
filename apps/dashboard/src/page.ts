/** A page of the dashboard, and the kinds of ids that lead to one. */
import type { ComponentType } from "preact";
import type { IconName } from "./components/icon.tsx";

/** The headings of the operator's navigation, in their order. */
export const navigationGroups = ["City", "Partners", "Data", "Administration"] as const;
type NavigationGroup = (typeof navigationGroups)[number];

export interface Page {
  /** Below /dashboard; parameters as `:name`. */
  readonly path: string;
  readonly title: string;
  /** `public`: without a session. `person`: everybody who is signed in. */
  readonly audience: "public" | "person" | "partner" | "operator";
  /** Whether the navigation lists it, in the order of this table. */
  readonly isListed?: boolean;
  /** Whether it is about cities, and listed for partners that are agencies alone. */
  readonly isForAgencies?: boolean;
  /** The heading in the navigation under which the operator finds it. */
  readonly group?: NavigationGroup;
  readonly icon?: IconName;
  /** Opens it after `g`. */
  readonly letter?: string;
  /** The path of the list that it is about one item of. On a wide window the list stands beside it. */
  readonly list?: string;
  /** Whether it is about accounts, and left out in frames of the operator's portal. */
  readonly isAboutAccounts?: boolean;
  /** Ids that are opened on this page: the palette leads to it. */
  readonly finds?: readonly IdKind[];
  /** The page with filters, and what else is on it, which the palette suggests when one of the words is typed. */
  readonly views?: readonly View[];
  /** The guide that fits, below /docs: `errors`. */
  readonly guide?: string;
  readonly load: () => Promise<ComponentType>;
}

/** A page with a filter, or for something on it. */
interface View {
  readonly title: string;
  readonly words: string;
  /** Left out: the page as it is. */
  readonly query?: Readonly<Record<string, string>>;
}

/** A kind of id that the service generates, recognised by its form. The operator's own ids are searched for. */
export interface IdKind {
  /** The name of a thing that has such an id: "Delivery". */
  readonly label: string;
  readonly pattern: RegExp;
  /** Returns the address of the item, from the page's address. */
  readonly address: (page: string, id: string) => string;
}

export const keyId: IdKind = {
  label: "Key",
  pattern: /^key_\w+$/,
  address: (page, id) => withParameter(page, "key", id),
};

export const requestId: IdKind = {
  label: "Request",
  pattern: /^req_\w+$/,
  address: (page, id) => withParameter(page, "request", id),
};

export const deliveryId = ownPage("Delivery", /^delivery_\w+$/);
export const importId = ownPage("Import", /^(import|gbfs)_\w+$/);

/** Returns a kind whose pages lie below the page of their list. */
function ownPage(label: string, pattern: RegExp): IdKind {
  return { label, pattern, address: (page, id) => page.replace(/(?=\?|$)/, `/${encodeURIComponent(id)}`) };
}

/** An endpoint of the service's interfaces: `/v1/rides`, `GET /v1/rides`. */
export const route: IdKind = {
  label: "Endpoint",
  pattern: /^(?:(?:get|post|put|patch|delete)\s+)?\/[\w/{}:.-]+$/i,
  address: (page, id) => withParameter(page, "q", id),
};

/** Returns an address with one more parameter. */
export function withParameter(address: string, name: string, value: string): string {
  return `${address}${address.includes("?") ? "&" : "?"}${name}=${encodeURIComponent(value)}`;
}
