import type { RequirementAnswers } from "@bikeshare/contract/console";
import { MDS_VERSION } from "@bikeshare/contract/mds";
import { z } from "zod";
import type { LeftOutFields, RecordList } from "./left-out.rules.ts";
import { everyEndpoint, type ServedEndpoint, servedEndpoints } from "./served-fields.rules.ts";

/*
 * Reads requirement files. In such a file an agency lists, by program, the endpoints and fields that providers must give it,
 * and the fields that they must not give it (disallowed).
 */

/** A list of names; a missing one counts as empty. */
const names = z
  .array(z.string())
  .nullish()
  .transform((given) => given ?? []);

/** The schema of the parts that are read. All else is ignored. */
const requirementFile = z.object({
  metadata: z
    .object({ agency_id: z.string().nullish(), agency_name: z.string().nullish(), mds_release: z.string().nullish() })
    .nullish(),
  programs: z.array(
    z.object({
      description: z.string().nullish(),
      provider_ids: names,
      vehicle_types: names,
      required_data_specs: z
        .array(
          z.object({
            data_spec_name: z.string(),
            version: z.string().nullish(),
            required_apis: z
              .array(
                z.object({
                  api_name: z.string().nullish(),
                  required_endpoints: z
                    .array(z.object({ endpoint_name: z.string(), required_fields: names, disallowed_fields: names }))
                    .nullish(),
                }),
              )
              .nullish(),
          }),
        )
        .nullish(),
    }),
  ),
});

/** The parts of an agency's requirement file that the service reads. */
export type RequirementFile = z.infer<typeof requirementFile>;

type Program = RequirementFile["programs"][number];

/** Reads a requirement file of MDS's Policy API, 1.2 or 2.0. @throws Error whose message continues a sentence: "is no …" */
export function readRequirements(document: unknown): RequirementFile {
  const { data, error } = requirementFile.safeParse(document);
  if (data !== undefined) return data;
  const [issue] = error.issues;
  throw new Error(`is no requirement file of MDS: ${issue?.path.join(".") || "it"}: ${issue?.message ?? "wrong"}`);
}

/** The fields of a vehicle's status that contain records of other lists, by these lists. */
const partsOfStatus: { readonly [List in RecordList]?: string } = { events: "last_event", telemetry: "last_telemetry" };

/**
 * Returns the fields that a requirement file disallows the agency, by list of records. Ignores programs that name other
 * providers only. Ignores the vehicle types and dates of programs, and so may leave out too much: an agency can ask for
 * more, but data that it has read cannot be taken back. Leaves out nothing of GBFS, whose feeds are public.
 * @param providerId the operator's id in MDS
 */
export function leftOutFields({ programs }: RequirementFile, providerId: string | undefined): LeftOutFields {
  const demands = programs.filter((program) => isOurs(program, providerId)).flatMap(demandsOf);
  const inLists = demands.flatMap(({ served, disallowed }) =>
    served.flatMap(({ list }) => (list === undefined ? [] : disallowed.map((field) => ({ list, field })))),
  );
  // A field that is disallowed in events or telemetry is left out of the event and the telemetry in a status, too.
  const inStatus = inLists.flatMap(({ list, field }) => {
    const part = partsOfStatus[list];
    return part === undefined ? [] : [{ list: "vehicles_status" as const, field: `${part}.${field}` }];
  });
  const byList = Map.groupBy([...inLists, ...inStatus], ({ list }) => list);
  return Object.fromEntries(
    [...byList].map(([list, fields]) => [list, [...new Set(fields.map(({ field }) => field))].sort()]),
  ) as { [List in RecordList]?: string[] };
}

/** Returns, for each field of each endpoint in a requirement file, whether the agency gets it. */
export function answerRequirements(file: RequirementFile, providerId: string | undefined): RequirementAnswers {
  const leftOut = leftOutFields(file, providerId);
  return {
    agency_id: file.metadata?.agency_id ?? null,
    agency_name: file.metadata?.agency_name ?? null,
    mds_release: file.metadata?.mds_release ?? null,
    programs: file.programs.map((program) => ({
      description: program.description ?? "",
      is_ours: isOurs(program, providerId),
      vehicle_types: program.vehicle_types,
      endpoints: demandsOf(program).map((demand) => answerDemand(demand, leftOut)),
    })),
  };
}

/** Returns a requirement file that requires every endpoint of MDS that the service has. */
export function ownRequirements(): RequirementFile {
  const endpoints = everyEndpoint().map((name) => ({ endpoint_name: name }));
  const provider = { api_name: "provider", required_endpoints: endpoints };
  return readRequirements({
    programs: [{ required_data_specs: [{ data_spec_name: "MDS", version: MDS_VERSION, required_apis: [provider] }] }],
  });
}

/** Tells whether a program concerns the operator: it names the operator, or no provider. */
function isOurs({ provider_ids: ids }: Program, providerId: string | undefined): boolean {
  return ids.length === 0 || ids.some((id) => id.toLowerCase() === providerId);
}

/** An endpoint that a program of a requirement file requires. */
interface Demand {
  readonly spec: string;
  readonly version: string;
  readonly api: string;
  readonly endpoint: string;
  readonly required: readonly string[];
  readonly disallowed: readonly string[];
  /** The endpoints of this service that serve it. Empty: it is not served. */
  readonly served: readonly ServedEndpoint[];
}

/** Returns the endpoints that a program requires, as a flat list. */
function demandsOf({ required_data_specs: specs }: Program): Demand[] {
  return (specs ?? []).flatMap(({ data_spec_name: spec, version, required_apis: apis }) =>
    (apis ?? []).flatMap(({ api_name: api, required_endpoints: endpoints }) =>
      (endpoints ?? []).map((each) => ({
        spec,
        version: version ?? "",
        api: api ?? "",
        endpoint: each.endpoint_name,
        required: each.required_fields,
        disallowed: each.disallowed_fields,
        served: servedEndpoints({ spec, version: version ?? "", api: api ?? "", endpoint: each.endpoint_name }),
      })),
    ),
  );
}

/** The answer for one endpoint that a requirement file names. */
type EndpointAnswer = RequirementAnswers["programs"][number]["endpoints"][number];

/** Answers for one endpoint, with each field that the service has, or that the agency requires or may not have. */
function answerDemand({ required, disallowed, served, ...named }: Demand, leftOut: LeftOutFields): EndpointAnswer {
  // All endpoints that serve the demand have the same records, so the first stands for them.
  const [first] = served;
  const given = first?.fields ?? [];
  // Another program of the file may disallow the field too, so the fields that are left out of the list count as well.
  const isLeftOut = (field: string) =>
    disallowed.includes(field) || (first?.list !== undefined && leftOut[first.list]?.includes(field) === true);
  const fields = [...new Set([...given.map(({ name }) => name), ...required, ...disallowed])];
  return {
    ...named,
    status: first === undefined ? "missing" : "given",
    fields: fields.map((field) => {
      const known = first?.find(field);
      // Nothing is left out of GBFS, which has no `list`.
      const isPublic = known !== undefined && first?.list === undefined;
      const statusIfAllowed = known === undefined ? "missing" : "given";
      const status = isLeftOut(field) && !isPublic ? "disallowed" : statusIfAllowed;
      return { field, status, is_optional: known?.isOptional ?? false, is_required: required.includes(field) };
    }),
  };
}
