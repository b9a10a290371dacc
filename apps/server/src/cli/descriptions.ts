import { readFile } from "node:fs/promises";
import { type FactChanges, type FactKind, type UsualZoneRule, usualZoneRules } from "@bikeshare/contract";
import {
  type Described,
  describe,
  describedAll,
  describedOne,
  describedTypesEver,
  mainLanguageOf,
  requireRemoval,
  textIn,
} from "../city/descriptions/service.ts";
import { type OpenCli, type ParentCommand, runOnSystem, type SystemContext } from "./context.ts";
import { addFactOptions, describedFacts, describedJson, readFactOptions } from "./facts.ts";
import { option, readGivenId, UsageError } from "./options.ts";
import { type Columns, type Result, table } from "./output.ts";

/*
 * Commands with which the operator describes things for GBFS: vehicle types, regions, pricing plans, zones, stations and
 * bikes. A description consists of facts, such as a name; they take precedence over those of a feed. `own` and `published`
 * are the facts that the operator has set and those that GBFS publishes.
 */

/** A kind of thing whose ids the operator chooses, such as a region. It has commands of its own. */
type Noun = {
  readonly [Kind in FactKind]: {
    readonly kind: Kind;
    readonly command: string;
    /** The singular name. */
    readonly one: string;
    /** The key of the list in `--json`. */
    readonly many: string;
    /** The columns of a table, each with its fact. */
    readonly columns: Readonly<Record<string, keyof Described<Kind>["published"]>>;
  };
}[FactKind];

const vehicleTypes = {
  kind: "vehicle_type",
  command: "vehicle-types",
  one: "vehicle type",
  many: "vehicle_types",
  columns: {
    name: "name",
    form: "form_factor",
    propulsion: "propulsion_type",
    "range in metres": "max_range_meters",
    return: "return_constraint",
    plan: "default_pricing_plan_id",
  },
} as const satisfies Noun;

const regions = {
  kind: "region",
  command: "regions",
  one: "region",
  many: "regions",
  columns: { name: "name" },
} as const satisfies Noun;

const pricingPlans = {
  kind: "pricing_plan",
  command: "pricing-plans",
  one: "pricing plan",
  many: "pricing_plans",
  columns: { name: "name", price: "price", currency: "currency", description: "description" },
} as const satisfies Noun;

/** Registers `vehicle-types set`, `list`, `show` and `remove`. */
export function registerVehicleTypes(program: ParentCommand, cli: OpenCli): void {
  registerNoun(program, cli, vehicleTypes);
}

/** Registers `regions set`, `list`, `show` and `remove`. */
export function registerRegions(program: ParentCommand, cli: OpenCli): void {
  registerNoun(program, cli, regions);
}

/** Registers `pricing-plans set`, `list`, `show` and `remove`. */
export function registerPricingPlans(program: ParentCommand, cli: OpenCli): void {
  registerNoun(program, cli, pricingPlans);
}

function registerNoun(program: ParentCommand, cli: OpenCli, noun: Noun): void {
  const { kind, one } = noun;
  const parent = program.command(noun.command).description(`manage the ${one}s that GBFS publishes`);
  registerSet(parent, cli, kind, "set", `describe a ${one}`);
  registerShow(parent, cli, kind, `show what GBFS publishes of a ${one}, and who gives it`);
  parent
    .command("list")
    .description(`list every ${one} that is described or in use`)
    .action(() => runOnSystem(cli(), (context) => list(context, noun)));
  parent
    .command("remove")
    .description(`remove your description of a ${one}; that of a feed stays`)
    .argument("<id>", `the ${one}'s id`)
    .action((id) =>
      runOnSystem(cli(), async (context) => {
        await requireRemoval(context, context.systemId, kind, readGivenId(id));
        return { object: { id }, text: `Removed your description of ${one} ${id}.` };
      }),
    );
}

async function list({ db, systemId, systemOption }: SystemContext, { kind, many, one, columns }: Noun) {
  const language = await mainLanguageOf(db, systemId);
  const all: readonly Described[] =
    kind === "vehicle_type" ? await describedTypesEver(db, systemId) : await describedAll(db, systemId, kind);
  const rows = all.map(({ id, published }) => {
    const cells = Object.entries(columns).map(([title, name]) => {
      const value = (published as Readonly<Record<string, unknown>>)[name];
      // An array is a text in several languages.
      return [title, Array.isArray(value) ? textIn(value as never, language) : (value ?? null)];
    });
    return { id, ...Object.fromEntries(cells) } as Readonly<Record<string, unknown>>;
  });
  const titles: Columns<Readonly<Record<string, unknown>>> = Object.fromEntries(
    ["id", ...Object.keys(columns)].map((title) => [title, title]),
  );
  const notes = kind === "vehicle_type" ? unknownNotes(all as readonly Described<"vehicle_type">[], systemOption) : [];
  return { object: { [many]: all.map(describedJson) }, table: table(rows, titles, `No ${one}s.`), notes };
}

/** Returns which types lack facts that GBFS requires, and the command that sets them. */
function unknownNotes(types: readonly Described<"vehicle_type">[], systemOption: string): string[] {
  const isUnknown = ({ published }: Described<"vehicle_type">) =>
    published.form_factor === undefined || published.propulsion_type === undefined;
  const unknown = types.filter(isUnknown).map(({ id }) => id);
  if (unknown.length === 0) return [];
  return [
    `The form or the propulsion of ${unknown.join(", ")} is unknown. GBFS requires both, so the feeds say bicycle, human.`,
    `Set them: bikeshare ${systemOption}vehicle-types set ${unknown[0] ?? ""} --form-factor bicycle --propulsion-type electric_assist`,
  ];
}

/**
 * Registers `describe` and `show` below `stations` or `bikes`, for the facts that GBFS publishes besides their state.
 */
export function registerFleetFacts(parent: ParentCommand, cli: OpenCli, kind: "station" | "bike"): void {
  registerSet(parent, cli, kind, "describe", `describe a ${kind} for GBFS`);
  registerShow(parent, cli, kind, `show your description of a ${kind}`);
}

function registerSet(parent: ParentCommand, cli: OpenCli, kind: FactKind, verb: string, description: string): void {
  const set: ParentCommand = parent
    .command(verb)
    .description(`${description}: facts take precedence over feeds, an empty value clears one`)
    .argument("<id>", "its id");
  addFactOptions(set, kind);
  // Its arguments have no types, because `addFactOptions` adds the options in a loop.
  set.action((...[id]: readonly unknown[]) => {
    const changes = readFactOptions(kind, set.opts());
    return runOnSystem(cli(), async (context) => {
      const described = await describe(context, context.systemId, kind, readGivenId(String(id)), changes);
      return describedResult(context, described);
    });
  });
}

function registerShow(parent: ParentCommand, cli: OpenCli, kind: FactKind, description: string): void {
  parent
    .command("show")
    .description(description)
    .argument("<id>", "its id")
    .action((id) =>
      runOnSystem(cli(), async (context) =>
        describedResult(context, await describedOne(context.db, context.systemId, kind, readGivenId(id))),
      ),
    );
}

/** Returns the output of one described thing. */
export async function describedResult({ db, systemId }: SystemContext, described: Described): Promise<Result> {
  const facts = describedFacts(described, await mainLanguageOf(db, systemId));
  return { object: describedJson(described), facts };
}

/** Registers `zones import`, `show` and `remove`. A system's zones are described as one thing, whose id is empty. */
export function registerZones(program: ParentCommand, cli: OpenCli): void {
  const zones = program.command("zones").description("manage the geofencing zones that GBFS publishes");
  zones
    .command("import")
    .description("replace all zones by those of a file")
    .argument("<file>", 'GeoJSON: a FeatureCollection, or GBFS with its rules and "global_rules"')
    .addOption(
      option(
        "--rule <rule>",
        `what holds in zones without rules: ${ruleNames.join(", ")}; elsewhere everything is allowed`,
        usualRule,
      ),
    )
    .action(async (file, { rule }) => {
      const changes = readZones(file, await readFile(file, "utf8"), rule);
      return runOnSystem(cli(), async (context) => {
        const described = await describe(context, context.systemId, "geofencing_zones", "", changes);
        return { object: describedJson(described), facts: { zones: described.published.features?.length ?? 0 } };
      });
    });
  zones
    .command("show")
    .description("show the zones that GBFS publishes")
    .action(() =>
      runOnSystem(cli(), async (context) => {
        const described = await describedOne(context.db, context.systemId, "geofencing_zones", "");
        return { object: describedJson(described), facts: { zones: described.published.features?.length ?? 0 } };
      }),
    );
  zones
    .command("remove")
    .description("remove your zones; those of a feed stay")
    .action(() =>
      runOnSystem(cli(), async (context) => {
        await requireRemoval(context, context.systemId, "geofencing_zones", "");
        return { object: {}, text: "Removed your zones." };
      }),
    );
}

const ruleNames = Object.keys(usualZoneRules) as UsualZoneRule[];

function usualRule(text: string): UsualZoneRule {
  const known = ruleNames.find((name) => name === text);
  if (known === undefined) throw new Error(`must be of ${ruleNames.join(", ")}`);
  return known;
}

/**
 * Reads a FeatureCollection, or GBFS's `geofencing_zones` document. Without `rule`, it must have `global_rules`.
 * @param rule the rule for zones without one, because map programs write polygons without rules
 */
function readZones(file: string, text: string, rule: UsualZoneRule | undefined): FactChanges<"geofencing_zones"> {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    throw new UsageError(`${file} is not JSON.`);
  }
  const data = fieldOf(document, "data") ?? document;
  const collection = fieldOf(data, "geofencing_zones") ?? data;
  const features = fieldOf(collection, "features");
  const given = fieldOf(data, "global_rules") ?? fieldOf(collection, "global_rules");
  // With `--rule`, everything is allowed outside the zones, as the help of the option says.
  const rules = given ?? (rule && [usualZoneRules.open]);
  if (features === undefined) throw new UsageError(`${file} is no GeoJSON FeatureCollection: it has no features.`);
  if (rules === undefined) {
    const example = '"global_rules":[{"ride_start_allowed":true,"ride_end_allowed":true,"ride_through_allowed":true}]';
    throw new UsageError(
      `${file} does not say what holds outside its zones. Give --rule, or add ${example} beside "features".`,
    );
  }
  // Unchecked: `describe` validates the features and the rules.
  const zones = rule === undefined || !Array.isArray(features) ? features : features.map((each) => ruled(each, rule));
  return { features: zones, global_rules: rules } as FactChanges<"geofencing_zones">;
}

/**
 * Returns a zone with the given rule, unless it has rules already. Turns a Polygon into a MultiPolygon, and keeps only the
 * property `name`.
 */
function ruled(feature: unknown, rule: UsualZoneRule): unknown {
  const [properties, geometry] = [fieldOf(feature, "properties"), fieldOf(feature, "geometry")];
  if (fieldOf(properties, "rules") !== undefined) return feature;
  const name = fieldOf(properties, "name");
  const isPolygon = fieldOf(geometry, "type") === "Polygon";
  return {
    type: "Feature",
    properties: { ...(name !== undefined && name !== null && { name }), rules: [usualZoneRules[rule]] },
    geometry: isPolygon ? { type: "MultiPolygon", coordinates: [fieldOf(geometry, "coordinates")] } : geometry,
  };
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}
