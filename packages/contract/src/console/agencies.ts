import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { identifierParam, timestamp } from "../values.ts";
import { consoleErrors, consoleNeeds, partnerPath } from "./endpoint.ts";

/**
 * A field that the service gives an agency (a city that reads by the Mobility Data Specification, MDS), or that the agency's
 * requirements file asks for or disallows.
 */
const fieldAnswer = z
  .object({
    field: z.string(),
    status: z.enum(["given", "missing", "disallowed"]),
    is_optional: z.boolean().describe("True: given only if the value is known"),
    is_required: z.boolean().describe("True: the requirements file asks for the field; false: only MDS does"),
  })
  .strict();

/** What an agency's requirements file (MDS) asks for and what the service gives, by endpoint and by field. */
const requirementAnswers = z
  .object({
    agency_id: z.string().nullable(),
    agency_name: z.string().nullable(),
    mds_release: z.string().nullable(),
    programs: z.array(
      z
        .object({
          description: z.string(),
          is_ours: z.boolean().describe("False: the program names only other providers"),
          vehicle_types: z.array(z.string()).describe("Empty: all types"),
          endpoints: z.array(
            z
              .object({
                spec: z.string(),
                version: z.string(),
                api: z.string(),
                endpoint: z.string(),
                status: z.enum(["given", "missing"]),
                fields: z.array(fieldAnswer),
              })
              .strict(),
          ),
        })
        .strict(),
    ),
  })
  .strict();
export type RequirementAnswers = z.infer<typeof requirementAnswers>;

/**
 * The HTTP status that the agency gets when it requests the events of an hour, or the report of a month. 202: reports of the
 * hour may still arrive. 404: the hour or month is not over, or too long ago.
 */
const answered = z.union([z.literal(200), z.literal(202), z.literal(404)]);

const shownAgency = z
  .object({
    agency_id: z.string(),
    provider_id: z.string().describe("The operator's id in MDS"),
    is_served: z.boolean().describe("False: MDS is off in this process"),
    url: z.string().describe("The base address that the agency reads"),
    time_zone: z.string(),
    has_own_time_zone: z.boolean().describe("False: the time zone is the system's"),
    has_boundary: z.boolean(),
    logged_since: timestamp.describe("The agency gets events from this instant on"),
    trips_since: timestamp.describe("The agency gets trips that ended from this instant on"),
    kept_days: z.number().int().describe("Days for which events are kept"),
    has_requirements: z.boolean().describe("False: no requirements file; `requirements` answers what MDS asks for"),
    requirements: requirementAnswers,
    vehicles: z.object({
      states: z.array(z.object({ state: z.string(), vehicles: z.number().int() }).strict()),
      nowhere: z.number().int().describe("Vehicles without a known position, which get no status"),
      untyped: z.number().int().describe("Vehicles of unknown type, which are reported as bicycles"),
    }),
    hours: z
      .array(z.object({ hour: timestamp, status: answered, read_at: timestamp.nullable() }).strict())
      .describe("The last 24 hours, newest first"),
    months: z.array(z.object({ month: z.string(), status: answered }).strict()).describe("Newest first"),
    reads: z
      .array(z.object({ at: timestamp, endpoint: z.string(), what: z.string() }).strict())
      .describe("The agency's latest reads, newest first"),
  })
  .strict();
export type ShownAgency = z.infer<typeof shownAgency>;

const base = "/console/v1/systems/:system_id/partners/:partner_id/agency";

/** Shows the people of an agency and of the operator what the agency is given, but not frames of the operator's portal. */
export const agencyEndpoints = {
  get: {
    method: "GET",
    path: base,
    summary: "What the agency gets and has read; null: the partner is not an agency",
    metadata: consoleNeeds("partner", "viewer", { embedded: false }),
    pathParams: partnerPath,
    query: noQuery,
    responses: { 200: z.object({ agency: shownAgency.nullable() }).strict(), ...consoleErrors },
  },
  report: {
    method: "GET",
    path: `${base}/reports/:file`,
    summary: "The report of a month, such as `2026-10.csv`",
    metadata: consoleNeeds("partner", "viewer", { embedded: false, cost: 10 }),
    pathParams: partnerPath.extend({ file: identifierParam }),
    query: noQuery,
    responses: { 200: z.string(), ...consoleErrors },
  },
} as const;
