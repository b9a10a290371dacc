import type { LocalText, Region, VehicleType } from "@bikeshare/contract";
import { listDescriptions } from "../../feeds/gbfs/source-descriptions.ts";
import type { QueryRunner } from "../../storage/db/database.ts";

/** A source's description of its system; null: it does not say. */
interface SaidSystem {
  readonly name: string | null;
  readonly language: string | null;
  readonly timezone: string | null;
  readonly feed_contact_email: string | null;
  readonly opening_hours: string | null;
}

/** What one source says of one thing, each text in one language. */
export type Said =
  | { readonly feed: "system_information"; readonly content: SaidSystem }
  | { readonly feed: "vehicle_types"; readonly content: readonly VehicleType[] }
  | { readonly feed: "system_regions"; readonly content: readonly Region[] };

/** Returns what sources say of a system, the first source first. */
export async function saidBySources(db: QueryRunner, systemId: string): Promise<Said[]> {
  const said: Said[] = [];
  for (const { feed, content } of await listDescriptions(db, systemId)) {
    if (feed === "system_information") {
      const { name, language = null, timezone = null, feed_contact_email = null, opening_hours = null } = content;
      said.push({ feed, content: { name: textOf(name), language, timezone, feed_contact_email, opening_hours } });
    } else if (feed === "vehicle_types") {
      const types = content.flatMap((type) => {
        const { vehicle_type_id: id, form_factor = null, propulsion_type = null, max_range_meters = null } = type;
        return id === undefined ? [] : { id, name: textOf(type.name), form_factor, propulsion_type, max_range_meters };
      });
      said.push({ feed, content: types });
    } else if (feed === "system_regions") {
      const regions = content.flatMap(({ region_id: id, name }) =>
        id === undefined ? [] : { id, name: textOf(name) ?? id },
      );
      said.push({ feed, content: regions });
    }
  }
  return said;
}

/** The English text, else the first. */
function textOf(texts: readonly LocalText[] = []): string | null {
  return (texts.find(({ language }) => /^en\b/i.test(language)) ?? texts[0])?.text ?? null;
}
