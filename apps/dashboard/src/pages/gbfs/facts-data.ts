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
    queryFn: ({ signal }) => api.descriptions.get({ params: { system_id: systemId, kind, id }, signal }),
  });
}

/** Returns the things of a kind to choose from, by name. */
export function useChoices(systemId: string, kind: FactKind): readonly Choice[] {
  const { things = [] } = useDescribed(systemId, kind);
  return things.map(({ id, published }) => ({
    value: id,
    label: shortText((published as FactsOf<"region">).name) ?? id,
  }));
}

/** Changes facts; null removes a value. */
export async function setFacts(systemId: string, kind: FactKind, id: string, body: Readonly<Record<string, unknown>>) {
  await api.descriptions.set({ params: { system_id: systemId, kind, id }, body });
  await forgetFacts(systemId);
}

/** Removes everything that the operator has set of a thing. */
export async function removeFacts(systemId: string, kind: FactKind, id: string): Promise<void> {
  await api.descriptions.remove({ params: { system_id: systemId, kind, id }, body: {} });
  await forgetFacts(systemId);
}

/** Facts of one thing follow from those of others: what is shown is read again. */
async function forgetFacts(systemId: string): Promise<void> {
  await queries.invalidateQueries({ queryKey: ["facts", systemId] });
  await queries.invalidateQueries({ queryKey: ["published"] });
}
