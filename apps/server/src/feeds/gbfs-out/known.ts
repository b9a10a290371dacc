import type { FactsOf } from "@bikeshare/contract";
import { openAlerts } from "../../city/alerts/service.ts";
import { type Described, describedAll, describedOne, describedSystem } from "../../city/descriptions/service.ts";
import { systemsOf } from "../../city/systems/service.ts";
import type { Queryable } from "../../storage/db/database.ts";
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
import { openingHoursOf, type SaidHours } from "./hours.rules.ts";

/** The facts of a system and of its things, besides their rows. Each part is read when it is first needed. */
export interface KnownCity {
  readonly system: KnownSystem;
  readonly types: () => Promise<readonly Known<TypeFacts>[]>;
  readonly plans: () => Promise<readonly Known<PlanFacts>[]>;
  readonly regions: () => Promise<readonly Known<RegionFacts>[]>;
  readonly zones: () => Promise<FactsOf<"geofencing_zones">>;
  readonly alerts: (now: Date) => Promise<readonly AlertFacts[]>;
  /** The operator's facts of stations. */
  readonly stationFacts: () => Promise<ReadonlyMap<string, StationFacts>>;
  /** The operator's facts of bikes, by the operator's id. */
  readonly bikeFacts: () => Promise<ReadonlyMap<string, BikeFacts>>;
}

/** Returns a function that reads a value once. */
function once<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let held: Promise<Value> | undefined;
  return () => (held ??= read());
}

/** Returns every system of the deployment, oldest first. */
export async function knownSystems(tx: Queryable): Promise<KnownSystem[]> {
  const systems: KnownSystem[] = [];
  for (const { system_id: id } of await systemsOf(tx)) {
    const city = await knownCity(tx, id);
    if (city !== undefined) systems.push(city.system);
  }
  return systems;
}

/** @returns undefined where there is no such system */
export async function knownCity(tx: Queryable, systemId: string): Promise<KnownCity | undefined> {
  const system = await describedSystem(tx, systemId);
  if (system === undefined) return undefined;
  const all = <Kind extends "vehicle_type" | "region" | "pricing_plan">(kind: Kind) =>
    once(async () => (await describedAll(tx, systemId, kind)).map(({ id, published }) => ({ id, facts: published })));
  return {
    system: withHours(systemId, system),
    types: all("vehicle_type"),
    plans: all("pricing_plan"),
    regions: all("region"),
    zones: once(async () => (await describedOne(tx, systemId, "geofencing_zones", "")).published),
    alerts: (now) => openAlerts(tx, systemId, now),
    stationFacts: once(() => ownFacts(tx, systemId, "station")),
    bikeFacts: once(() => ownFacts(tx, systemId, "bike")),
  };
}

/** Hours that nobody gives are left out, so that GBFS 2.3 then has no system_hours, or those of the source. */
function withHours(id: string, { published, from }: Described<"system">): KnownSystem {
  const { rental_hours, calendars, ...facts }: FactsOf<"system"> & SaidHours = published;
  if (from.opening_hours !== "default") return { id, facts };
  const saidHours = { rental_hours, calendars };
  return { id, facts: { ...facts, opening_hours: openingHoursOf(saidHours) }, saidHours };
}

/** Returns the operator's facts of stations or bikes, by id. Their rows have those of sources. */
async function ownFacts(
  tx: Queryable,
  systemId: string,
  kind: "station" | "bike",
): Promise<ReadonlyMap<string, StationFacts & BikeFacts>> {
  const described = await describedAll(tx, systemId, kind);
  return new Map(described.map(({ id, own }) => [id, own]));
}
