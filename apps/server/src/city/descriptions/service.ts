import { createHash } from "node:crypto";
import type { FactChanges, FactKind, FactsOf, Region, VehicleType } from "@bikeshare/contract";
import { type PageRequest, serviceError } from "@bikeshare/rules";
import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import { listDescriptions } from "../../feeds/gbfs/source-descriptions.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import type { QueryRunner, Queryable, Transaction } from "../../storage/db/database.ts";
import { type Page, pageOfItems, sortById } from "../../storage/lists/page.ts";
import { hasSystem, nameOfSystem, renameSystem, systemsOf } from "../systems/service.ts";
import { FactIssue, requireId } from "./fact-values.rules.ts";
import {
  applyChanges,
  feedsOfKind,
  type KnownIds,
  requireFitting,
  type SaidFeed,
  saidOfKind,
  typesOfZones,
} from "./facts.rules.ts";
import { timeZoneFrom } from "./lenient-values.rules.ts";
import { type Described, mergeFacts, textIn } from "./published-facts.rules.ts";
import {
  deleteDescription,
  findDescription,
  findFactsOfSource,
  findNamedTypes,
  findPublishedIdOfSource,
  findRiddenTypes,
  findTypeUses,
  findUsedRegions,
  isRegionUsed,
  listOwnDescriptions,
  lockDescriptions,
  updateDescription,
} from "./queries.ts";

export { type Described, textIn } from "./published-facts.rules.ts";
export { findDescriptionsState as descriptionsState } from "./queries.ts";

// Facts describe a system and its vehicle types, regions, prices, zones, stations and bikes for GBFS. The operator and the
// sources give them; the operator's take precedence. `own` names the operator's facts, `said` those of sources. The code
// calls whatever has facts a thing: the system, a vehicle type, a station. The system and its geofencing zones exist once,
// so they have the empty id.

/** Facts that readers need. GBFS publishes a default for a missing one, so the operator is asked to set it. */
const WANTED = ["name", "timezone", "language", "feed_contact_email"] as const;

/** Returns the facts that readers need and neither the operator nor a source gives. */
export function missingFacts({ from }: Described<"system">): (typeof WANTED)[number][] {
  return WANTED.filter((name) => from[name] === undefined || from[name] === "default");
}

/** The part of a logger that warns. */
interface Warn {
  warn(fields: object, message: string): void;
}

/** Logs a warning for each of the operator's systems that lacks facts which readers need. GBFS publishes defaults. */
export async function warnOfMissingFacts(db: Queryable, logger: Warn): Promise<void> {
  for (const { system_id: system } of await systemsOf(db)) {
    const missing = missingFacts((await readSaid(db, system, "system")).system);
    if (missing.length === 0) continue;
    const advice = "see `bikeshare systems show`, set them with `bikeshare systems set`";
    logger.warn({ system, missing }, `GBFS publishes defaults for facts that this system lacks: ${advice}`);
  }
}

/** The merged facts of a system, and the sources' feeds that describe it and the things of one kind. */
interface Said {
  readonly feeds: readonly SaidFeed[];
  readonly system: Described<"system">;
}

/** Reads the feeds with facts of the system and of a kind, and merges the system's facts. */
async function readSaid(db: QueryRunner, systemId: string, kind: FactKind): Promise<Said> {
  const own = await findDescription(db, systemId, "system", "");
  const listedName = await nameOfSystem(db, systemId);
  const publishedId = (await findPublishedIdOfSource(db, systemId)) ?? systemId;
  const feeds = await listDescriptions(db, systemId, [...feedsOfKind("system"), ...feedsOfKind(kind)]);
  const said = saidOfKind("system", feeds).get("") ?? [];
  // The language is needed first: texts without a language of their own, such as the listed name, get it.
  const { language = "en" } = mergeFacts<"system">("", own, said).published;
  const textOf = (text: string) => [{ text, language }];
  // A system named at its creation has no localized name yet.
  const named = listedName === undefined || listedName === systemId ? own : { name: textOf(listedName), ...own };
  const system = mergeFacts<"system">("", named, said, {
    published_id: publishedId,
    name: textOf(systemId),
    language,
    timezone: "UTC",
    opening_hours: "24/7",
  });
  return { feeds, system };
}

/** Returns the main language of a system's texts. */
export async function mainLanguageOf(db: QueryRunner, systemId: string): Promise<string> {
  return (await readSaid(db, systemId, "system")).system.published.language ?? "en";
}

/** Returns the facts of the system itself; undefined: there is no such system. */
export async function describedSystem(db: QueryRunner, systemId: string): Promise<Described<"system"> | undefined> {
  return (await hasSystem(db, systemId)) ? (await readSaid(db, systemId, "system")).system : undefined;
}

/** Returns the time zone in which a system's days begin and end; UTC while no valid time zone is set. */
export async function timeZoneOfSystem(db: QueryRunner, systemId: string): Promise<string> {
  return timeZoneFrom((await describedSystem(db, systemId))?.published.timezone) ?? "UTC";
}

/**
 * Returns the facts of every thing of a kind that is described or in use, ordered by id. Of stations and bikes, only
 * those that the operator describes.
 * @param named further ids to include, such as vehicle types of past rides
 */
export async function describedAll<Kind extends FactKind>(
  db: QueryRunner,
  systemId: string,
  kind: Kind,
  named: readonly string[] = [],
): Promise<Described<Kind>[]> {
  const said = await readSaid(db, systemId, kind);
  if (kind === "system") return [said.system as unknown as Described<Kind>];
  return mergeAll(db, systemId, kind, said, [...named, ...(await namedIds(db, systemId, kind))]);
}

/** Returns every vehicle type that is described, or that a bike, a station or a ride has. */
export async function describedTypesEver(db: QueryRunner, systemId: string): Promise<Described<"vehicle_type">[]> {
  return describedAll(db, systemId, "vehicle_type", await findRiddenTypes(db, systemId));
}

/** Merges the facts of each thing of a kind, ordered by id. @param named ids to include even if nobody describes them */
async function mergeAll<Kind extends FactKind>(
  db: QueryRunner,
  systemId: string,
  kind: Kind,
  { feeds }: Said,
  named: readonly string[],
): Promise<Described<Kind>[]> {
  const own = new Map((await listOwnDescriptions(db, systemId, kind)).map(({ id, content }) => [id, content]));
  const said = saidOfKind(kind, feeds);
  const ids = new Set([...own.keys(), ...said.keys(), ...named]);
  return sortById([...ids].map((id) => mergeFacts<Kind>(id, own.get(id), said.get(id) ?? [])));
}

/** Returns the ids of the vehicle types that bikes or stations name now. */
export function typesInUse(db: QueryRunner, systemId: string): Promise<readonly string[]> {
  return findNamedTypes(db, systemId);
}

/** Returns ids of a kind to list even if nobody describes them, such as the vehicle types of bikes. */
async function namedIds(db: QueryRunner, systemId: string, kind: FactKind): Promise<readonly string[]> {
  switch (kind) {
    case "vehicle_type":
      return typesInUse(db, systemId);
    case "region":
      return findUsedRegions(db, systemId);
    case "geofencing_zones":
      return [""];
    default:
      return [];
  }
}

/**
 * Returns the facts of one thing; only its id when nobody describes it.
 * @throws ServiceError `not_found` for a station or bike that does not exist
 */
export async function describedOne<Kind extends FactKind>(
  db: QueryRunner,
  systemId: string,
  kind: Kind,
  id: string,
): Promise<Described<Kind>> {
  if (kind === "station" || kind === "bike") {
    const ofSource = await findFactsOfSource(db, systemId, kind, id);
    if (ofSource === undefined) throw serviceError("not_found", kind);
    return mergeFacts<Kind>(id, await findDescription(db, systemId, kind, id), [ofSource as FactsOf<Kind>]);
  }
  const all = await describedAll(db, systemId, kind);
  return all.find((each) => each.id === id) ?? mergeFacts<Kind>(id, undefined, []);
}

/** Returns a text that changes whenever a fact of a thing changes; `none` when nobody describes the thing. */
export function versionOf({ published, own, from }: Described): string {
  if (Object.keys(published).length === 0) return "none";
  // The two parts tell apart a value that the operator set from the same value of a source.
  const origins = from as Readonly<Record<string, string>>;
  const ofOthers = Object.entries(published).filter(([name]) => origins[name] !== "operator");
  return createHash("sha256")
    .update(JSON.stringify([own, ofOthers]))
    .digest("base64url");
}

/**
 * Checks that a thing still has the version `seen`; undefined: any.
 * @throws ServiceError `conflict` when it has another version
 */
async function requireVersion(
  tx: Transaction,
  systemId: string,
  kind: FactKind,
  id: string,
  seen: string | undefined,
): Promise<void> {
  if (seen === undefined || versionOf(await describedOne(tx, systemId, kind, id)) === seen) return;
  throw commandError("conflict", "factsChanged");
}

/**
 * Changes the operator's facts of a thing, which take precedence over sources. Null removes a fact, an omitted fact
 * stays.
 * @param seen the version that the actor has seen; undefined: any version may be changed
 * @throws ServiceError `invalid_parameter` for a value that GBFS does not allow, that contradicts another or is missing;
 * `not_found` for a station or bike that does not exist; `conflict` for another version. Nothing has changed then.
 */
export function describe<Kind extends FactKind>(
  context: ActorContext,
  systemId: string,
  kind: Kind,
  id: string,
  changes: FactChanges<Kind>,
  seen?: string,
): Promise<Described<Kind>> {
  const now = new Date(context.clock());
  return context.db.transaction(async (tx) => {
    await lockDescriptions(tx, systemId, now);
    await requireVersion(tx, systemId, kind, id, seen);
    const held = (await findDescription(tx, systemId, kind, id)) ?? {};
    const language = await mainLanguageOf(tx, systemId);
    try {
      if (isFreelyNamed(kind) && !(await isDescribedOrUsed(tx, systemId, kind, id))) requireId(id);
      const own = applyChanges(kind, held, changes, language);
      await updateDescription(tx, systemId, kind, { id, content: own }, now);
      if ("name" in changes && kind === "system") await renameSystem(tx, systemId, nameOf(systemId, own));
      // Checks what is published now, after the writes. An error undoes them, because it ends the transaction.
      const described = await describedOne(tx, systemId, kind, id);
      requireFitting(kind, described, await knownIds(tx, systemId));
      const subject = subjectOf(systemId, id);
      await insertActOf(context, tx, { systemId, action: `${kind}.described`, subject, detail: changes });
      return described;
    } catch (error) {
      if (error instanceof FactIssue) throw errorOfIssue(error);
      throw error;
    }
  });
}

/** Tells whether the operator chooses the ids of a kind when describing it. Stations and bikes exist before. */
function isFreelyNamed(kind: FactKind): boolean {
  return kind === "vehicle_type" || kind === "region" || kind === "pricing_plan";
}

/** Tells whether a thing with an id is described or used. Such an id may come from a feed and contain any characters. */
async function isDescribedOrUsed(tx: Transaction, systemId: string, kind: FactKind, id: string): Promise<boolean> {
  return (await describedAll(tx, systemId, kind)).some((described) => described.id === id);
}

/** Converts a rejected value to an error for the actor. */
function errorOfIssue({ path, value, expected }: FactIssue) {
  if (value === undefined) return serviceError("invalid_parameter", "factMissing", { name: path, expected });
  const shown = JSON.stringify(value);
  const text = shown.length > 200 ? `${shown.slice(0, 200)}…` : shown;
  return serviceError("invalid_parameter", "fact", { name: path, value: text, expected });
}

/** Returns the ids to which the facts of a system may refer. */
async function knownIds(tx: Transaction, systemId: string): Promise<KnownIds> {
  const plans = await describedAll(tx, systemId, "pricing_plan");
  const types = await describedAll(tx, systemId, "vehicle_type");
  return { plans: new Set(plans.map(({ id }) => id)), types: new Set(types.map(({ id }) => id)) };
}

/** Returns the name under which a system is listed: the operator's name for it, or its id. */
function nameOf(systemId: string, { name, language = "en" }: FactsOf<"system">): string {
  return textIn(name, language) ?? systemId;
}

/**
 * Removes the operator's facts of a thing; the sources' facts stay.
 * @param seen the version that the actor has seen; undefined: any version may be removed
 * @returns false when there are none
 * @throws ServiceError `invalid_parameter` when something refers to a thing that no source describes; `conflict` for another
 * version
 */
export async function removeDescription(
  context: ActorContext,
  systemId: string,
  kind: FactKind,
  id: string,
  seen?: string,
): Promise<boolean> {
  return context.db.transaction(async (tx) => {
    await lockDescriptions(tx, systemId, new Date(context.clock()));
    await requireVersion(tx, systemId, kind, id, seen);
    // Deletes first. An error below undoes that, because it ends the transaction.
    if (!(await deleteDescription(tx, systemId, kind, id))) return false;
    if (kind === "system") await renameSystem(tx, systemId, nameOf(systemId, {}));
    const { feeds } = await readSaid(tx, systemId, kind);
    const users = saidOfKind(kind, feeds).has(id) ? [] : await usersOf(tx, systemId, kind, id);
    if (users.length > 0) throw serviceError("invalid_parameter", "describedInUse", { id, users: users.join(" and ") });
    const subject = subjectOf(systemId, id);
    await insertActOf(context, tx, { systemId, action: `${kind}.removed`, subject, detail: {} });
    return true;
  });
}

/** Returns the id by which the audit log names a thing: the system's for the system and its zones, whose id is empty. */
function subjectOf(systemId: string, id: string): string {
  return id === "" ? systemId : id;
}

/** Removes the operator's facts of a thing (`removeDescription`). @throws ServiceError `not_found` when there are none */
export async function requireRemoval(...of: Parameters<typeof removeDescription>): Promise<void> {
  const [, , , id] = of;
  if (!(await removeDescription(...of))) throw serviceError("not_found", "description", { id });
}

/** Returns what refers to a thing, for a message: kinds of things in the plural, and single vehicle types by id. */
async function usersOf(tx: Transaction, systemId: string, kind: FactKind, id: string): Promise<string[]> {
  switch (kind) {
    case "vehicle_type": {
      const uses = await findTypeUses(tx, systemId, id);
      const zones = await findDescription(tx, systemId, "geofencing_zones", "");
      return [
        ...(uses.by_bikes ? ["bikes"] : []),
        ...(uses.by_stations ? ["stations"] : []),
        ...(uses.by_rides ? ["rides"] : []),
        ...(zones !== undefined && typesOfZones(zones).includes(id) ? ["zones"] : []),
      ];
    }
    case "region":
      return (await isRegionUsed(tx, systemId, id)) ? ["stations"] : [];
    case "pricing_plan": {
      const types = await listOwnDescriptions(tx, systemId, "vehicle_type");
      const bikes = await listOwnDescriptions(tx, systemId, "bike");
      const isOfType = ({ default_pricing_plan_id: plan, pricing_plan_ids: others = [] }: FactsOf<"vehicle_type">) =>
        plan === id || others.includes(id);
      return [
        ...types.filter(({ content }) => isOfType(content)).map((type) => `the vehicle type ${type.id}`),
        ...(bikes.some(({ content }) => content.pricing_plan_id === id) ? ["bikes"] : []),
      ];
    }
    default:
      return [];
  }
}

// Regions and vehicle types as partners see them, in the system's main language.

/** Returns a page of the vehicle types that are described, or that a bike, a station or a ride names, ordered by id. */
export async function listVehicleTypes(
  db: QueryRunner,
  systemId: string,
  request: PageRequest<string>,
): Promise<Page<string>> {
  const language = await mainLanguageOf(db, systemId);
  const types = (await describedTypesEver(db, systemId)).map(({ id, published }): VehicleType => {
    const { name, form_factor = null, propulsion_type = null, max_range_meters = null } = published;
    return { id, name: textIn(name, language), form_factor, propulsion_type, max_range_meters };
  });
  return pageOfItems(types, request);
}

/** Returns a page of the regions that are described, or that a station is in, ordered by id. */
export async function listRegions(
  db: QueryRunner,
  systemId: string,
  request: PageRequest<string>,
): Promise<Page<string>> {
  return pageOfItems(await regionsOf(db, systemId), request);
}

/** Returns every region that is described, or that a station is in, ordered by id. */
export async function regionsOf(db: QueryRunner, systemId: string): Promise<Region[]> {
  const language = await mainLanguageOf(db, systemId);
  return (await describedAll(db, systemId, "region")).map(({ id, published: { name } }): Region => ({
    id,
    name: textIn(name, language) ?? id,
  }));
}
