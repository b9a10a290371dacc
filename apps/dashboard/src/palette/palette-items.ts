/**
 * Computes the suggestions of the palette (the search box) for the typed text: recognised ids, pages, and items opened
 * before. A reader has a membership for each partner or operator that they belong to, and sees the pages of each. A page
 * names the kinds of ids that it shows (`finds`), and views of itself, such as failed deliveries, with words to find them.
 */
import type { Membership } from "@bikeshare/contract/console";
import { listedPages, membershipName, pageAddress } from "../membership-pages.ts";
import { keyId, type Page, withParameter } from "../page.ts";
import { pages } from "../pages.ts";
import type { RecentPage } from "./recent-pages.ts";

/** A suggestion: a page, or the page of a thing. */
export interface PaletteItem {
  /** The address to which it leads. */
  readonly address: string;
  readonly title: string;
  /** The kind of the item, or the membership that it belongs to. */
  readonly detail: string;
}

interface Choice {
  /** The memberships to suggest pages of. The current one, whose page is open, is the first. */
  readonly memberships: readonly Membership[];
  /** All memberships, in the order of the session. */
  readonly all: readonly Membership[];
  readonly recent: readonly RecentPage[];
}

/** Most items in the palette: as many as fit. */
const MAX_ITEMS = 12;
/** How many of the `MAX_ITEMS` are reserved, at most, for results of the service. */
const MAX_FOUND = 6;

/**
 * Returns the items. Local ones come first, so that results of the service, which come later, do not move the first of them.
 * @param found the service's results for this text
 */
export function paletteItems(
  typed: string,
  choice: Choice,
  found: readonly PaletteItem[] = [],
): readonly PaletteItem[] {
  const text = typed.trim();
  const { memberships, all } = choice;
  if (isCredential(text)) return keysPages(memberships, all);
  const recent = choice.recent.map(({ address, title }) => ({ address, title, detail: "Opened before" }));
  const listed = pageItems(memberships, all);
  if (text === "") return withoutRepeats([...recent, ...listed]).slice(0, MAX_ITEMS);
  const known = withoutRepeats([
    ...idItems(text, memberships, all),
    ...[...listed, ...recent].filter(({ title, detail }) => matches(`${title} ${detail}`, text)),
    ...viewItems(text, memberships, all),
  ]);
  const kept = known.slice(0, MAX_ITEMS - Math.min(found.length, MAX_FOUND));
  return withoutRepeats([...kept, ...found]).slice(0, MAX_ITEMS);
}

/** The prefixes of keys and secrets. */
const CREDENTIAL = /bss_[a-z]+_|whsec_/i;

/**
 * Tells whether a text contains a key or a secret. Such a text must not be searched for: the service marks a key that was in
 * a URL as compromised.
 */
export function isCredential(text: string): boolean {
  return CREDENTIAL.test(text);
}

/** Returns the pages that list keys. There the reader finds a key by its last four characters. */
function keysPages(memberships: readonly Membership[], all: readonly Membership[]): readonly PaletteItem[] {
  return memberships.flatMap((membership) =>
    pagesOf(membership)
      .filter(({ finds }) => finds?.includes(keyId) === true)
      .map((page) => ({
        address: pageAddress(page, membership, all),
        title: page.title,
        detail: `Lists keys by their last four characters · ${membershipName(membership)}`,
      })),
  );
}

/** Returns the memberships with the current one at the beginning. */
export function currentFirst(
  memberships: readonly Membership[],
  current: Membership | undefined,
): readonly Membership[] {
  return current === undefined ? memberships : [current, ...memberships.filter((one) => one !== current)];
}

/** Returns the pages that the navigation lists for each membership, and the personal pages such as the account. */
function pageItems(memberships: readonly Membership[], all: readonly Membership[]): readonly PaletteItem[] {
  const own = memberships.flatMap((membership) =>
    listedPages(membership).map((page) => ({
      address: pageAddress(page, membership, all),
      title: page.title,
      detail: membershipName(membership),
    })),
  );
  // A page whose path has a parameter (`:`) cannot be opened without a value for it.
  const personal = pages.filter(({ audience, path }) => audience === "person" && !path.includes(":"));
  return [...own, ...personal.map(({ path, title }) => ({ address: path, title, detail: "Yours" }))];
}

/** Returns the views of pages that match the text. Unlike pages, views are not matched by the name of their membership. */
function viewItems(
  text: string,
  memberships: readonly Membership[],
  all: readonly Membership[],
): readonly PaletteItem[] {
  return memberships.flatMap((membership) =>
    pagesOf(membership).flatMap((page) =>
      (page.views ?? [])
        .filter(({ title, words }) => matches(`${title} ${words}`, text))
        .map(({ title, query = {} }) => ({
          address: withParameters(pageAddress(page, membership, all), query),
          title,
          detail: membershipName(membership),
        })),
    ),
  );
}

/** Returns an address with parameters added to its query. */
function withParameters(address: string, parameters: Readonly<Record<string, string>>): string {
  let extended = address;
  for (const [name, value] of Object.entries(parameters)) extended = withParameter(extended, name, value);
  return extended;
}

/** Returns the pages that may show an item with this id. */
function idItems(text: string, memberships: readonly Membership[], all: readonly Membership[]): readonly PaletteItem[] {
  return memberships.flatMap((membership) =>
    pagesOf(membership).flatMap((page) =>
      (page.finds ?? [])
        .filter(({ pattern }) => pattern.test(text))
        .map(({ label, address }) => ({
          address: address(pageAddress(page, membership, all), text),
          title: `${label} ${text}`,
          detail: membershipName(membership),
        })),
    ),
  );
}

/** Returns all pages of a membership, also those that the navigation does not list. */
function pagesOf({ partner_id }: Membership): readonly Page[] {
  const audience = partner_id === null ? "operator" : "partner";
  return pages.filter((page) => page.audience === audience);
}

/** Tells whether a title contains every typed word. */
function matches(title: string, text: string): boolean {
  const lower = title.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}

/** Returns the first item of each address. */
function withoutRepeats(items: readonly PaletteItem[]): readonly PaletteItem[] {
  // Reversed, because a map keeps the last item that is set for an address.
  const first = new Map(items.toReversed().map((item) => [item.address, item]));
  return items.filter((item) => first.get(item.address) === item);
}
