/** Reads and changes facts, and keeps what the pages have cached of them. */
import type { DescribedFactsOfKind } from "@bikeshare/contract/console";
import type { FactKind, FactsOf } from "@bikeshare/contract/facts";
import { api, queries } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import type { Choice } from "../../components/field.tsx";
import { shortText } from "./fact-input.tsx";

/** What is known of one thing, its facts typed by its kind. */
export interface DescribedThing<Kind extends FactKind> extends Omit<DescribedFactsOfKind, "published" | "own"> {
  readonly published: FactsOf<Kind>;
  readonly own: FactsOf<Kind>;
}

/** The id of the system itself and of its zones, of which there is one each. */
export const ONLY = "-";

/** Returns everything of a kind. */
export function useDescribed<Kind extends FactKind>(systemId: string, kind: Kind) {
  const answer = useQuery({
    queryKey: ["facts", systemId, kind, "all"],
    queryFn: ({ signal }) => api.descriptions.list({ params: { system_id: systemId, kind }, signal }),
    enabled: systemId !== "",
  });
  // The service has read the facts by their kind.
  return { ...answer, things: answer.data?.data as readonly DescribedThing<Kind>[] | undefined };
}

/** Returns what is known of one thing. */
export function useDescribedOne(systemId: string, kind: FactKind, id: string) {
  return useQuery({
    queryKey: ["facts", systemId, kind, "one", id],
    queryFn: ({ signal }) => readFacts(systemId, kind, id, signal),
  });
}

/** Reads what is known of one thing. */
export function readFacts(systemId: string, kind: FactKind, id: string, signal?: AbortSignal) {
  return api.descriptions.get({ params: { system_id: systemId, kind, id }, ...(signal && { signal }) });
}

/** Returns the things of a kind to choose from, by name. */
export function useChoices(systemId: string, kind: FactKind): readonly Choice[] {
  const { things = [] } = useDescribed(systemId, kind);
  return things.map(({ id, published }) => ({
    value: id,
    label: shortText((published as FactsOf<"region">).name) ?? id,
  }));
}

/**
 * Changes facts; null removes a value.
 * @param seen the version that is changed. Where somebody else has changed it since, nothing is saved.
 */
export async function setFacts(
  systemId: string,
  kind: FactKind,
  id: string,
  body: Readonly<Record<string, unknown>>,
  seen: string,
): Promise<DescribedFactsOfKind> {
  try {
    return await api.descriptions.set({ params: { system_id: systemId, kind, id }, query: { seen }, body });
  } finally {
    await forgetFacts(systemId);
  }
}

/** Removes everything that the operator has set of a thing. @param seen as of `setFacts` */
export async function removeFacts(systemId: string, kind: FactKind, id: string, seen: string): Promise<void> {
  try {
    await api.descriptions.remove({ params: { system_id: systemId, kind, id }, query: { seen }, body: {} });
  } finally {
    await forgetFacts(systemId);
  }
}

/** Facts of one thing follow from those of others: what is shown is read again. */
async function forgetFacts(systemId: string): Promise<void> {
  await queries.invalidateQueries({ queryKey: ["facts", systemId] });
  await queries.invalidateQueries({ queryKey: ["published"] });
  await queries.invalidateQueries({ queryKey: ["feed-quality", systemId] });
}
