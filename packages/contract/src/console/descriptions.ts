import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { type FactKind, factKinds } from "../gbfs/facts.ts";
import { textOf } from "../values.ts";
import { changeErrors, consoleErrors, consoleNeeds, done, systemPath } from "./endpoint.ts";

/** Facts as a form sends them. This schema accepts any object; the service then validates the facts by their kind. */
const facts = z.record(z.unknown());

/** A thing with facts, such as a station or a region. `gbfs/fact-schemas.ts` has a strict schema of it for each kind. */
const describedFacts = z
  .object({
    id: z.string(),
    published: facts.describe("The published facts, in the form of GBFS 3.1"),
    own: facts.describe("The facts that the operator has set"),
    from: z.record(z.enum(["operator", "source", "default"])).describe("Where each published fact comes from"),
    version: z.string().describe("Changes whenever a fact changes; `none`: nothing is described"),
  })
  .strict();
export type DescribedFactsOfKind = z.infer<typeof describedFacts>;

const kinds = Object.keys(factKinds) as [FactKind, ...FactKind[]]; // the keys are those of the record
const kind = z.enum(kinds);

const base = "/console/v1/systems/:system_id";
const view = { metadata: consoleNeeds("operator"), query: noQuery };
/** The version that a form was opened with. With it the service refuses to undo what somebody else saved meanwhile. */
const seen = z
  .object({
    seen: z
      .string()
      .max(100)
      .optional()
      .describe("The `version` that the change is based on: 409 if it is no longer current"),
  })
  .strict();
const change = { metadata: consoleNeeds("operator", "admin", { conflicts: ["conflict"] }), query: seen };
const kindPath = systemPath.extend({ kind });
const onePath = kindPath.extend({ id: textOf("givenIdentifier").describe("`-` for the system and its zones") });

/** Endpoints with which the operator's people describe the system and what belongs to it, for GBFS. */
export const descriptionEndpoints = {
  feeds: {
    method: "GET",
    path: `${base}/gbfs-feeds`,
    summary: "The addresses of the system's GBFS feeds",
    pathParams: systemPath,
    ...view,
    responses: {
      200: z.object({ data: z.array(z.object({ version: z.string(), url: z.string() }).strict()) }).strict(),
      ...consoleErrors,
    },
  },
  list: {
    method: "GET",
    path: `${base}/facts/:kind`,
    summary: "Everything of a kind that is described or in use",
    pathParams: kindPath,
    ...view,
    responses: { 200: z.object({ data: z.array(describedFacts) }).strict(), ...consoleErrors },
  },
  get: {
    method: "GET",
    path: `${base}/facts/:kind/:id`,
    summary: "The facts of one thing, and where each comes from",
    pathParams: onePath,
    ...view,
    responses: { 200: describedFacts, ...consoleErrors },
  },
  set: {
    method: "PATCH",
    path: `${base}/facts/:kind/:id`,
    summary: "Set facts; null removes your value, facts that are left out stay",
    pathParams: onePath,
    ...change,
    body: facts,
    responses: { 200: describedFacts, ...changeErrors },
  },
  remove: {
    method: "POST",
    path: `${base}/facts/:kind/:id/remove`,
    summary: "Remove all facts of a thing that the operator has set",
    pathParams: onePath,
    ...change,
    body: z.object({}).strict(),
    responses: { 200: done, ...changeErrors },
  },
} as const;
