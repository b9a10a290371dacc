/** Searches the service for the typed text, by id or by name. */
import type { FoundEntry, Membership } from "@bikeshare/contract/console";
import { useEffect, useState } from "preact/hooks";
import { api } from "../api/api.ts";
import { useQuery } from "../api/queries.ts";
import { membershipName } from "../membership-pages.ts";
import { addressIn, type PageScope } from "../pages/scope.ts";
import { isCredential, type PaletteItem } from "./palette-items.ts";

/**
 * Milliseconds without typing before the service is searched. Too low: each key sends a request. Too high: results feel
 * slow.
 */
const SETTLE_MS = 150;
/** Most memberships that are searched, because each costs a request. */
const MAX_MEMBERSHIPS = 3;

/** The state of the search of the service. */
export interface Finds {
  readonly items: readonly PaletteItem[];
  /** Whether the service has not answered yet for the present text. */
  readonly isPending: boolean;
  /** The reason why the search failed. */
  readonly error: Error | null;
}

/**
 * Searches the service for the typed text.
 * @param memberships to search, the most likely first
 * @param all all memberships, in the order of the session
 */
export function useFinds(typed: string, memberships: readonly Membership[], all: readonly Membership[]): Finds {
  const text = typed.trim();
  const settled = useSettled(text);
  const { data, isPending, error } = useQuery({
    queryKey: ["palette", memberships, settled],
    queryFn: async ({ signal }) => {
      const searched = memberships.slice(0, MAX_MEMBERSHIPS);
      const found = await Promise.all(searched.map((membership) => find(settled, membership, all, signal)));
      return found.flat();
    },
    enabled: settled !== "" && !isCredential(settled),
  });
  if (text === "" || isCredential(text)) return { items: [], isPending: false, error: null };
  if (settled !== text) return { items: [], isPending: true, error: null };
  return { items: data ?? [], isPending, error };
}

/** Returns the text as it was when the reader last paused for `SETTLE_MS`. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

/** Searches the data of one membership, and returns the results as items with the addresses of their pages. */
async function find(
  q: string,
  membership: Membership,
  all: readonly Membership[],
  signal: AbortSignal,
): Promise<PaletteItem[]> {
  const { system_id, partner_id } = membership;
  const { data } =
    partner_id === null
      ? await api.systemSearch.search({ params: { system_id }, query: { q }, signal })
      : await api.partnerSearch.search({ params: { system_id, partner_id }, query: { q }, signal });
  // The first membership with this partner (or as the operator). Addresses of its system do not name the system.
  const first = all.find((one) => one.partner_id === partner_id);
  const scope = {
    systemId: system_id,
    partnerId: partner_id ?? undefined,
    isFirstSystem: first?.system_id === system_id,
  };
  return data.map((entry) => ({
    address: addressOf(entry, scope),
    title: titleOf(entry),
    detail: entry.name === null ? membershipName(membership) : `${entry.id} · ${membershipName(membership)}`,
  }));
}

/**
 * Returns the address of the page that shows a result. A partner finds only stations, keys and deliveries. The id of
 * `deliveries` is that of the resource which they are about.
 */
function addressOf(
  { kind, id }: FoundEntry,
  scope: Pick<PageScope, "systemId" | "partnerId" | "isFirstSystem">,
): string {
  if (kind === "deliveries") return addressIn(scope, "deliveries", { resource_id: id });
  if (kind === "key") return addressIn(scope, "keys", { key: id });
  if (scope.partnerId !== undefined) return addressIn(scope, "stations", { q: id });
  return addressIn(scope, `${kind}s/${encodeURIComponent(id)}`);
}

const kindNames: Readonly<Record<FoundEntry["kind"], string>> = {
  station: "Station",
  bike: "Bike",
  ride: "Ride",
  reservation: "Reservation",
  partner: "Partner",
  key: "Key",
  deliveries: "Deliveries about",
};

function titleOf({ kind, id, name }: FoundEntry): string {
  return `${kindNames[kind]} ${name ?? id}`;
}
