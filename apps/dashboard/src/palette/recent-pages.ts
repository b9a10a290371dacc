/** The pages that were opened last from the palette on this device, newest first. */
import { isEmbedded } from "../embedding.ts";
import { readStored, store } from "../layout/device-storage.ts";

/** A page that the palette has opened. */
export interface RecentPage {
  readonly address: string;
  readonly title: string;
}

const STORAGE_KEY = "bikeshare.recent";
const MAX_RECENT = 6;

/** Returns a person's pages. They are stored for each person separately, because several may use one browser. */
export function readRecentPages(personId: string): readonly RecentPage[] {
  try {
    const kept: unknown = JSON.parse(readStored(`${STORAGE_KEY}.${personId}`) ?? "[]");
    return Array.isArray(kept) ? kept.filter(isRecentPage) : [];
  } catch {
    // The stored text is not valid JSON.
    return [];
  }
}

/** Puts a page first among a person's recent pages. */
export function noteRecentPage(personId: string, page: RecentPage): void {
  // The viewer of a frame has no account, so nothing is stored for them.
  if (isEmbedded) return;
  const others = readRecentPages(personId).filter(({ address }) => address !== page.address);
  store(`${STORAGE_KEY}.${personId}`, JSON.stringify([page, ...others].slice(0, MAX_RECENT)));
}

function isRecentPage(value: unknown): value is RecentPage {
  return (
    typeof value === "object" &&
    value !== null &&
    "address" in value &&
    typeof value.address === "string" &&
    // The address must not lead to another site.
    /^\/(?!\/)/.test(value.address) &&
    "title" in value &&
    typeof value.title === "string"
  );
}
