import type { FactsOf, LocalText } from "@bikeshare/contract";
import { openAlerts } from "../../city/alerts/service.ts";
import { regionsOf } from "../../city/systems/regions.ts";
import { detailsOf, systemsOf } from "../../city/systems/service.ts";
import { vehicleTypesOf } from "../../city/systems/vehicle-types.ts";
import type { Transaction } from "../../storage/db/database.ts";
import type {
  AlertFacts,
  BikeFacts,
  Known,
  KnownSystem,
  PlanFacts,
  RegionFacts,
  StationFacts,
  TypeFacts,
} from "./documents.ts";

/** What is known of a system and of the things in it beside their rows. Each part is read when it is first needed. */
export interface KnownCity {
  readonly system: KnownSystem;
  readonly types: () => Promise<readonly Known<TypeFacts>[]>;
  readonly plans: () => Promise<readonly Known<PlanFacts>[]>;
  readonly regions: () => Promise<readonly Known<RegionFacts>[]>;
  readonly zones: () => Promise<FactsOf<"geofencing_zones">>;
  readonly alerts: (now: Date) => Promise<readonly AlertFacts[]>;
  readonly stationFacts: () => Promise<ReadonlyMap<string, StationFacts>>;
  readonly bikeFacts: () => Promise<ReadonlyMap<string, BikeFacts>>;
}

/** Returns a function that reads once. */
function once<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let held: Promise<Value> | undefined;
  return () => (held ??= read());
}

/** Returns every system of the deployment, oldest first. */
export async function knownSystems(tx: Transaction): Promise<KnownSystem[]> {
  const systems: KnownSystem[] = [];
  for (const { system_id: id } of await systemsOf(tx)) {
    const city = await knownCity(tx, id);
    if (city !== undefined) systems.push(city.system);
  }
  return systems;
}

/** @returns undefined where there is no such system */
export async function knownCity(tx: Transaction, systemId: string): Promise<KnownCity | undefined> {
  const details = await detailsOf(tx, systemId);
  if (details === undefined) return undefined;
  const { language } = details;
  const text = (value: string | null): readonly LocalText[] | undefined =>
    value === null ? undefined : [{ text: value, language }];
  const facts: FactsOf<"system"> = {
    name: text(details.name),
    language,
    timezone: details.timezone,
    opening_hours: details.opening_hours === "24/7" ? undefined : details.opening_hours,
    feed_contact_email: details.feed_contact_email ?? undefined,
    operator: text(details.operator),
    url: details.url ?? undefined,
    licence: details.licence ?? undefined,
  };
  return {
    system: { id: systemId, facts },
    types: once(async () =>
      (await vehicleTypesOf(tx, systemId)).map(({ id, name, form_factor, propulsion_type, max_range_meters }) => ({
        id,
        facts: {
          name: text(name),
          form_factor: form_factor ?? undefined,
          propulsion_type: propulsion_type ?? undefined,
          max_range_meters: max_range_meters ?? undefined,
        },
      })),
    ),
    plans: () => Promise.resolve([]),
    regions: once(async () =>
      (await regionsOf(tx, systemId)).map(({ id, name }) => ({ id, facts: { name: text(name) } })),
    ),
    zones: () => Promise.resolve({}),
    alerts: (now) => openAlerts(tx, systemId, now),
    stationFacts: () => Promise.resolve(new Map()),
    bikeFacts: () => Promise.resolve(new Map()),
  };
}
