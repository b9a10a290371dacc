import { extendApi } from "@anatine/zod-openapi";
import { z } from "zod";
import { MAX_IDENTIFIER_LENGTH } from "../limits.ts";
import { namedObject } from "../named-object.ts";
import { textInLanguages } from "../text-in-languages.ts";
import { type FactChanges, type FactKind, factKinds, type Facts, type FactsOf } from "./facts.ts";
import type { Field, FieldType } from "./types.ts";

// The schemas of facts in requests and answers. They define the form of each fact. The service also checks the meaning,
// such as whether a time zone exists, and says what is wrong.

/** Maximum characters of a text. Too high: one fact fills every document. */
const MAX_TEXT_LENGTH = 2_000;

/** Maximum characters of a language tag, which RFC 5646 asks programs to allow for. */
const MAX_LANGUAGE_LENGTH = 35;

const localText = z
  .object({ text: z.string().max(MAX_TEXT_LENGTH), language: z.string().max(MAX_LANGUAGE_LENGTH) })
  .strict();
/** Polygons of rings. A ring has at least four positions, each of longitude, latitude and perhaps altitude. */
const polygons = z.array(z.array(z.array(z.array(z.number()).min(2).max(3)).min(4)).min(1)).min(1);
const multiPolygon = z.object({ type: z.literal("MultiPolygon"), coordinates: polygons }).strict();

/**
 * Returns the zod schema of a fact's value.
 * @param isGiven whether the schema is for requests, in which a text may also be a single string
 */
function schemaOf(type: FieldType, isGiven: boolean): z.ZodTypeAny {
  const { kind, min, max, words = [], item, fields = {} } = type;
  switch (kind) {
    case "text":
    case "textUri": {
      const texts = z.array(localText).min(1);
      return isGiven ? textInLanguages(z.string().max(MAX_TEXT_LENGTH), texts) : texts;
    }
    case "boolean":
      return z.boolean();
    case "integer":
    case "number": {
      const number = kind === "integer" ? z.number().int() : z.number();
      const atLeast = min === undefined ? number : number.min(min);
      return max === undefined ? atLeast : atLeast.max(max);
    }
    case "oneOf":
      return z.enum(words as [string, ...string[]]); // every `oneOf` lists at least one word
    case "list":
      return z.array(item === undefined ? z.unknown() : schemaOf(item, isGiven)).min(min ?? 0);
    case "object":
      return objectOf(fields, isGiven);
    case "counts":
      return z.record(z.number().int());
    case "multiPolygon":
      return multiPolygon;
    default:
      return z.string().max(kind === "id" ? MAX_IDENTIFIER_LENGTH : MAX_TEXT_LENGTH);
  }
}

function objectOf(fields: Readonly<Record<string, Field>>, isGiven: boolean): z.ZodTypeAny {
  // A field with `until` exists in older versions only. It is left out, because facts have the newest form.
  const current = Object.entries(fields).filter(([, { until }]) => until === undefined);
  const shape = current.map(([name, { type, required }]) => {
    const schema = schemaOf(type, isGiven);
    return [name, required === undefined ? schema.optional() : schema];
  });
  return z.object(Object.fromEntries(shape) as z.ZodRawShape).strict();
}

/** Returns the fields of an object of facts, all optional. In requests (`isGiven`) a fact may be null, which removes it. */
function shapeOf(facts: Facts, isGiven: boolean): z.ZodRawShape {
  return Object.fromEntries(
    Object.entries(facts).map(([name, { type, about }]) => {
      const schema = schemaOf(type, isGiven);
      return [name, (isGiven ? schema.nullable() : schema).optional().describe(about)];
    }),
  );
}

const titles: Readonly<Record<FactKind, string>> = {
  system: "System",
  vehicle_type: "VehicleType",
  region: "Region",
  station: "Station",
  bike: "Bike",
  pricing_plan: "PricingPlan",
  geofencing_zones: "GeofencingZones",
};

/** Returns the schema of changes to facts: null removes a fact, an omitted fact stays. */
export function factChangesOf<Kind extends FactKind>(kind: Kind): z.ZodType<FactChanges<Kind>> {
  const schema = z.object(shapeOf(factKinds[kind], true)).strict();
  return extendApi(schema, { title: `${titles[kind]}FactChanges` });
}

/** A thing that GBFS describes, such as a station, with the origin of each of its facts. */
export interface DescribedFacts<Kind extends FactKind> {
  id: string;
  published: FactsOf<Kind>;
  own: FactsOf<Kind>;
  from: { [Name in keyof FactsOf<Kind>]?: "operator" | "source" | "default" };
}

/** Returns the schema of a thing that GBFS describes, for one kind. */
export function describedFactsOf<Kind extends FactKind>(kind: Kind): z.ZodType<DescribedFacts<Kind>> {
  const names = Object.keys(factKinds[kind]);
  const origin = z.enum(["operator", "source", "default"]).optional();
  const facts = namedObject(`${titles[kind]}Facts`, "Facts in the form of GBFS 3.1.", shapeOf(factKinds[kind], false));
  const from = z.object(Object.fromEntries(names.map((name) => [name, origin]))).strict();
  return namedObject(`Described${titles[kind]}`, "What GBFS publishes, and where each fact comes from.", {
    id: z.string().describe("Your id of the described thing; empty for the system and its zones"),
    published: facts.describe(
      "The published facts: your value, otherwise that of the first source, otherwise a default",
    ),
    own: facts.describe("The facts that you have set"),
    from: from.describe("Where each published fact comes from"),
  }) as z.ZodType<DescribedFacts<Kind>>;
}

/** Returns the schema of the list of all things of a kind. */
export function describedListOf<Kind extends FactKind>(kind: Kind, described: z.ZodType<DescribedFacts<Kind>>) {
  const description = "Everything of this kind that is described or in use, by id.";
  return namedObject(`Described${titles[kind]}List`, description, { data: z.array(described) });
}

/** The schema of the answer to a removal. */
export const removedFacts = namedObject("RemovedFacts", "The id of the thing whose facts you removed.", {
  id: z.string(),
});
