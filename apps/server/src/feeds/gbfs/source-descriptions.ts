import type {
  alertFields,
  FactsOf,
  pricingPlanFields,
  regionFields,
  systemInformation,
  ValueOf,
  vehicleTypeFields,
} from "@bikeshare/contract";
import type { QueryRunner } from "../../storage/db/database.ts";
import { listDocuments } from "./queries.ts";
import { isObject } from "./values.ts";

/** What one feed of one source says about its system, in canonical form. */
export type SourceDescription =
  | { readonly feed: "system_information"; readonly content: ValueOf<typeof systemInformation> }
  | { readonly feed: "vehicle_types"; readonly content: readonly ValueOf<typeof vehicleTypeFields>[] }
  | { readonly feed: "system_regions"; readonly content: readonly ValueOf<typeof regionFields>[] }
  | { readonly feed: "system_pricing_plans"; readonly content: readonly ValueOf<typeof pricingPlanFields>[] }
  | { readonly feed: "system_alerts"; readonly content: readonly ValueOf<typeof alertFields>[] }
  | { readonly feed: "geofencing_zones"; readonly content: FactsOf<"geofencing_zones"> }
  | { readonly feed: "system_hours" | "system_calendar"; readonly content: readonly object[] };

/**
 * Returns what the feeds of its sources say about a system. The earliest source comes first.
 * @param feeds the feeds to read. Name only those you need: the zones of a city have megabytes, and reading them delays
 * every other request.
 */
export async function listDescriptions(
  db: QueryRunner,
  systemId: string,
  feeds: readonly SourceDescription["feed"][],
): Promise<SourceDescription[]> {
  const documents = await listDocuments(db, systemId, feeds);
  // The cast is safe, because `readDescription` wrote the stored content.
  return documents.map(({ feed, content }) => ({ feed, content: currentContent(feed, content) }) as SourceDescription);
}

/** The feeds whose ids an earlier release stored under the name `id`, with the names that they have in GBFS. */
const oldIds: Readonly<Record<string, string>> = { vehicle_types: "vehicle_type_id", system_regions: "region_id" };

/**
 * Returns stored content in canonical form. An earlier release stored it differently: with a name as one text without its
 * language, null for unknown values, and `id` as the name of every id.
 */
function currentContent(feed: string, content: unknown): unknown {
  if (Array.isArray(content)) return content.map((item: unknown) => currentItem(item, oldIds[feed]));
  return feed === "system_information" ? currentItem(content, undefined) : content;
}

function currentItem(item: unknown, idField: string | undefined): unknown {
  if (!isObject(item)) return item;
  const language = typeof item["language"] === "string" ? item["language"] : "en";
  const fields = Object.entries(item).filter(([, value]) => value !== null);
  return Object.fromEntries(
    fields.map(([field, value]) => {
      if (field === "id" && idField !== undefined) return [idField, value];
      return [field, field === "name" && typeof value === "string" ? [{ text: value, language }] : value];
    }),
  );
}
