import type { FoundEntry } from "@bikeshare/contract/console";
import type { Queryable } from "../../storage/db/database.ts";
import { findForOperator, findForPartner, type SearchText } from "./queries.ts";

/**
 * Rows of a kind that are read for a name. No index has names: one of the numbers of bikes would be written with every ride.
 * Too low: what a large system has is not found by its name. Too high: each search takes long.
 */
const MAX_ROWS = 50_000;
/** Further words are ignored. */
const MAX_WORDS = 8;

/**
 * Finds what has an id, or is named so: first by the id, then by the name.
 * @param partnerId who finds the system's stations and its own deliveries alone; null: the operator
 */
export async function search(
  db: Queryable,
  { systemId, partnerId }: { readonly systemId: string; readonly partnerId: string | null },
  typed: string,
  maxRows = MAX_ROWS,
): Promise<FoundEntry[]> {
  const text = typed.trim();
  if (text === "") return [];
  const wanted = { ...readText(text), maxRows };
  const found =
    partnerId === null
      ? await findForOperator(db, systemId, wanted)
      : await findForPartner(db, { systemId, partnerId }, wanted);
  return [...new Map(found.map((entry) => [`${entry.kind} ${entry.id}`, entry])).values()];
}

function readText(text: string): Omit<SearchText, "maxRows"> {
  const words = text.split(/\s+/).slice(0, MAX_WORDS);
  return { id: text, beginning: `${literal(text)}%`, words: words.map((word) => `%${literal(word)}%`) };
}

/** A text as a pattern of `like` that stands for itself. */
function literal(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`);
}
