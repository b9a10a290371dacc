import { z } from "zod";

/** Whether an agency is given a field of its requirement file. */
const fieldAnswer = z
  .object({
    field: z.string(),
    status: z.enum(["given", "missing", "disallowed"]),
    is_optional: z.boolean().describe("Given where it is known"),
    is_required: z.boolean().describe("The file asks for it; MDS itself asks for others"),
  })
  .strict();

/** What a requirement file asks for, endpoint by endpoint and field by field. */
export const requirementAnswers = z
  .object({
    agency_id: z.string().nullable(),
    agency_name: z.string().nullable(),
    mds_release: z.string().nullable(),
    programs: z.array(
      z
        .object({
          description: z.string(),
          is_ours: z.boolean().describe("False: it names other providers alone"),
          vehicle_types: z.array(z.string()).describe("None: all"),
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
