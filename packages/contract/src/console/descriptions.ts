import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { issueText } from "../messages.ts";
import { region } from "../regions.ts";
import { isOneLine } from "../text-rules.ts";
import { textOf } from "../values.ts";
import { formFactor, propulsionType, vehicleType } from "../vehicle-types.ts";
import { consoleBodyErrors, consoleErrors, consoleNeeds, done, systemPath } from "./endpoint.ts";

const factName = z.enum([
  "name",
  "timezone",
  "language",
  "feed_contact_email",
  "opening_hours",
  "operator",
  "url",
  "licence",
]);

/** A fact about a system, as GBFS publishes it. */
const systemFact = z
  .object({
    name: factName,
    value: z.string().nullable().describe("As it is published; null: it is left out"),
    own: z.string().nullable().describe("What the operator says; it goes before what sources say"),
    from: z.enum(["operator", "source", "default", "nobody"]),
    expected: z.string().describe("What it must be"),
  })
  .strict();
export type SystemFact = z.infer<typeof systemFact>;

const systemFacts = z
  .object({
    id: z.string(),
    facts: z.array(systemFact),
    feeds: z.array(z.object({ version: z.string(), url: z.string() }).strict()).describe("Where they are published"),
  })
  .strict();
export type SystemFacts = z.infer<typeof systemFacts>;

/** A longer word than any fact may be is refused before it is read. */
const MAX_WORD_LENGTH = 2_000;
const word = z
  .string()
  .max(MAX_WORD_LENGTH, issueText("tooLong", { limit: MAX_WORD_LENGTH }))
  .nullable();
const factChanges = z.object(Object.fromEntries(factName.options.map((name) => [name, word.optional()]))).strict();

const describedType = z
  .object({ type: vehicleType, own: vehicleType.nullable().describe("What the operator says; null: nothing") })
  .strict();
export type DescribedVehicleType = z.infer<typeof describedType>;

const describedRegion = z
  .object({ region, own_name: z.string().nullable().describe("What the operator calls it") })
  .strict();
export type DescribedRegion = z.infer<typeof describedRegion>;

const MAX_NAME_LENGTH = 255;
const lineOfText = z
  .string()
  .min(1, issueText("empty"))
  .max(MAX_NAME_LENGTH, issueText("tooLong", { limit: MAX_NAME_LENGTH }))
  .refine(isOneLine, issueText("oneLine"));

/** A number above it is a typing error: no vehicle goes so far. */
const MAX_RANGE_METERS = 10_000_000;

const typeChanges = z
  .object({
    name: lineOfText.nullable(),
    form_factor: formFactor.nullable(),
    propulsion_type: propulsionType.nullable(),
    max_range_meters: z.number().int().min(0).max(MAX_RANGE_METERS).nullable(),
  })
  .partial()
  .strict();

const base = "/console/v1/systems/:system_id";
const view = { metadata: consoleNeeds("operator"), query: noQuery };
const change = { metadata: consoleNeeds("operator", "admin"), query: noQuery };
const changeErrors = { ...consoleErrors, ...consoleBodyErrors };
const onePath = systemPath.extend({ id: textOf("givenIdentifier") });
const list = <Item extends z.ZodTypeAny>(item: Item) => ({
  200: z.object({ data: z.array(item) }).strict(),
  ...consoleErrors,
});

/** Endpoints with which the operator describes a system, its vehicle types and its regions. */
export const descriptionEndpoints = {
  facts: {
    method: "GET",
    path: `${base}/facts`,
    summary: "The system as GBFS publishes it",
    pathParams: systemPath,
    ...view,
    responses: { 200: systemFacts, ...consoleErrors },
  },
  setFacts: {
    method: "PATCH",
    path: `${base}/facts`,
    summary: "Describe the system; null takes a word back, what is left out stays",
    pathParams: systemPath,
    ...change,
    body: factChanges,
    responses: { 200: systemFacts, ...changeErrors },
  },
  vehicleTypes: {
    method: "GET",
    path: `${base}/vehicle-types`,
    summary: "Every vehicle type that is described or in use",
    pathParams: systemPath,
    ...view,
    responses: list(describedType),
  },
  setVehicleType: {
    method: "PATCH",
    path: `${base}/vehicle-types/:id`,
    summary: "Describe a vehicle type; null takes a word back, what is left out stays",
    pathParams: onePath,
    ...change,
    body: typeChanges,
    responses: { 200: vehicleType, ...changeErrors },
  },
  removeVehicleType: {
    method: "POST",
    path: `${base}/vehicle-types/:id/remove`,
    summary: "Remove what the operator says of a vehicle type",
    pathParams: onePath,
    ...change,
    body: z.object({}).strict(),
    responses: { 200: done, ...changeErrors },
  },
  regions: {
    method: "GET",
    path: `${base}/regions`,
    summary: "Every region that is named, or that a station is in",
    pathParams: systemPath,
    ...view,
    responses: list(describedRegion),
  },
  setRegion: {
    method: "PATCH",
    path: `${base}/regions/:id`,
    summary: "Name a region",
    pathParams: onePath,
    ...change,
    body: z.object({ name: lineOfText }).strict(),
    responses: { 200: region, ...changeErrors },
  },
  removeRegion: {
    method: "POST",
    path: `${base}/regions/:id/remove`,
    summary: "Take the name of a region back",
    pathParams: onePath,
    ...change,
    body: z.object({}).strict(),
    responses: { 200: done, ...changeErrors },
  },
} as const;
