import { z } from "zod";
import { identifier, identifierParam } from "../values.ts";
import { consoleErrors, consoleNeeds, partnerPath, systemPath } from "./endpoint.ts";

const foundEntry = z
  .object({
    kind: z
      .enum(["station", "bike", "ride", "reservation", "partner", "key", "deliveries"])
      .describe("`deliveries`: `id` is that of a resource that deliveries to the partner are about"),
    id: identifier,
    name: z.string().nullable().describe("A station's, partner's or key's name, a bike's number"),
  })
  .strict();
export type FoundEntry = z.infer<typeof foundEntry>;

const search = {
  method: "GET",
  description: "At most 18 entries: first exact matches of an id, then matches of names.",
  query: z
    .object({ q: identifierParam.describe("An id, the beginning of a bike's number, or words of a name") })
    .strict(),
  responses: { 200: z.object({ data: z.array(foundEntry) }).strict(), ...consoleErrors },
} as const;

/** A partner's search: the system's stations, and the subjects of the partner's deliveries. */
export const partnerSearchEndpoints = {
  search: {
    ...search,
    path: "/console/v1/systems/:system_id/partners/:partner_id/search",
    summary: "Stations by id or name, keys by name, and subjects of deliveries by id",
    metadata: consoleNeeds("partner"),
    pathParams: partnerPath,
  },
} as const;

/** The operator's search. */
export const systemSearchEndpoints = {
  search: {
    ...search,
    path: "/console/v1/systems/:system_id/search",
    summary: "Stations, bikes, rides, reservations and partners by id or name, keys by name",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
  },
} as const;
