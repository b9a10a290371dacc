/** Reads and changes facts, and keeps the cached ones up to date. A fact is a value that GBFS publishes about a thing. */
import type { DescribedFactsOfKind } from "@bikeshare/contract/console";
import type { FactKind, FactsOf } from "@bikeshare/contract/facts";
import { api, queries } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import type { Choice } from "../../components/field.tsx";
import { shortText } from "./fact-input.tsx";

/**
 * The facts of one thing, typed by its kind. `own` are the facts that the operator has set, `published` those that apply.
 */
export interface DescribedThing<Kind extends FactKind> extends Omit<DescribedFactsOfKind, "published" | "own"> {
  readonly published: FactsOf<Kind>;
  readonly own: FactsOf<Kind>;
}

/** The id of a thing that a system has only one of: the system itself, and its zones. */
export const ONLY = "-";

/** Reads the facts of all things of one kind. */
export function useDescribed<Kind extends FactKind>(systemId: string, kind: Kind) {
  const answer = useQuery({
    queryKey: ["facts", systemId, kind, "all"],
    queryFn: ({ signal }) => api.descriptions.list({ params: { system_id: systemId, kind }, signal }),
    enabled: systemId !== "",
  });
  // The service returns facts that fit the requested kind.
  return { ...answer, things: answer.data?.data as readonly DescribedThing<Kind>[] | undefined };
}

/** A query for the facts of one thing. */
export function useDescribedOne(systemId: string, kind: FactKind, id: string) {
  return useQuery({
    queryKey: ["facts", systemId, kind, "one", id],
    queryFn: ({ signal }) => readFacts(systemId, kind, id, signal),
  });
}

/** Requests the facts of one thing. */
export function readFacts(systemId: string, kind: FactKind, id: string, signal?: AbortSignal) {
  return api.descriptions.get({ params: { system_id: systemId, kind, id }, ...(signal && { signal }) });
}

/** Returns the things of a kind to choose from, by name. */
export function useChoices(systemId: string, kind: FactKind): readonly Choice[] {
  const { things = [] } = useDescribed(systemId, kind);
  return things.map(({ id, published }) => ({
    value: id,
    // All kinds that are chosen from may have a name, as regions have.
    label: shortText((published as FactsOf<"region">).name) ?? id,
  }));
}

/**
 * Changes the facts of one thing. A null removes a fact.
 * @param seen the version that the form was loaded with. If somebody else has changed the thing since, the service saves
 * nothing.
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
    // Also after an error, because somebody else may have changed the thing.
    await reloadFacts(systemId);
  }
}

/** Removes all facts that the operator has set for a thing. @param seen as in `setFacts` */
export async function removeFacts(systemId: string, kind: FactKind, id: string, seen: string): Promise<void> {
  try {
    await api.descriptions.remove({ params: { system_id: systemId, kind, id }, query: { seen }, body: {} });
  } finally {
    await reloadFacts(systemId);
  }
}

/**
 * Reloads all facts of the system, because a change of one thing may change the facts of others, and the pages that show the
 * feeds with these facts.
 */
async function reloadFacts(systemId: string): Promise<void> {
  await queries.invalidateQueries({ queryKey: ["facts", systemId] });
  await queries.invalidateQueries({ queryKey: ["published"] });
  await queries.invalidateQueries({ queryKey: ["feed-quality", systemId] });
}
