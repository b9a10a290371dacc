/** What the palette offers for what is typed: ids that are recognised, pages, and what was opened before. */
import type { Membership } from "@bikeshare/contract/console";
import { listedPages, membershipName, pageAddress } from "../membership-pages.ts";
import type { Page } from "../page.ts";
import { pages } from "../pages.ts";
import type { RecentPage } from "./recent-pages.ts";

export interface PaletteItem {
  /** Where it leads. */
  readonly address: string;
  readonly title: string;
  /** What it is, or whose. */
  readonly detail: string;
}

interface Choice {
  readonly memberships: readonly Membership[];
  /** Whose pages are shown at present: its pages come first. */
  readonly current: Membership | undefined;
  readonly recent: readonly RecentPage[];
}

/** More than fit are not read. */
const MAX_ITEMS = 12;

export function paletteItems(typed: string, choice: Choice): readonly PaletteItem[] {
  const text = typed.trim();
  const memberships = currentFirst(choice);
  const recent = choice.recent.map(({ address, title }) => ({ address, title, detail: "Opened before" }));
  const listed = pageItems(memberships, choice.memberships);
  if (text === "") return withoutRepeats([...recent, ...listed]).slice(0, MAX_ITEMS);
  const matching = [...listed, ...recent].filter(({ title, detail }) => matches(`${title} ${detail}`, text));
  return withoutRepeats([...idItems(text, memberships, choice.memberships), ...matching]).slice(0, MAX_ITEMS);
}

function currentFirst({ memberships, current }: Choice): readonly Membership[] {
  return current === undefined ? memberships : [current, ...memberships.filter((one) => one !== current)];
}

function pageItems(memberships: readonly Membership[], all: readonly Membership[]): readonly PaletteItem[] {
  const own = memberships.flatMap((membership) =>
    listedPages(membership).map((page) => ({
      address: pageAddress(page, membership, all),
      title: page.title,
      detail: membershipName(membership),
    })),
  );
  const personal = pages.filter(({ audience, path }) => audience === "person" && !path.includes(":"));
  return [...own, ...personal.map(({ path, title }) => ({ address: path, title, detail: "Yours" }))];
}

/** The pages on which something with this id may be found. */
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

function pagesOf({ partner_id }: Membership): readonly Page[] {
  const audience = partner_id === null ? "operator" : "partner";
  return pages.filter((page) => page.audience === audience);
}

/** Whether every word that was typed occurs. */
function matches(title: string, text: string): boolean {
  const lower = title.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}

function withoutRepeats(items: readonly PaletteItem[]): readonly PaletteItem[] {
  return [...new Map(items.toReversed().map((item) => [item.address, item])).values()].toReversed();
}
