import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { errorBody } from "../errors.ts";
import { givenOnce, identifier, timestamp } from "../values.ts";
import { auditEntry } from "./audit.ts";
import {
  consoleBodyErrors,
  consoleErrors,
  consoleNeeds,
  consolePage,
  consolePageQuery,
  systemItemPath,
  systemPath,
} from "./endpoint.ts";

const count = z.number().int().min(0);

/** An import of trip files, or of one snapshot of a feed. */
const shownImport = z
  .object({
    id: identifier,
    kind: z.enum(["trips", "gbfs"]),
    source: z.string(),
    at: timestamp.describe("When the import began"),
    status: z
      .enum(["running", "done", "undoing", "undone"])
      .describe("`running`, `undoing`: still going on, or interrupted"),
    created: count.describe("Created rides, or created stations and bikes"),
    updated: count.describe("Feeds only: existing stations and bikes that were changed or removed"),
    unchanged: count,
    rejected: count,
    stations_created: count.describe("Trips: stations that only the trips name; feed: the stations among `created`"),
    first_at: timestamp.nullable().describe("When the first of the created rides started"),
    last_at: timestamp.nullable(),
    removed: count.describe("Rides that undoing the import has removed so far"),
    undone_at: timestamp.nullable(),
  })
  .strict();
export type ShownImport = z.infer<typeof shownImport>;

const importDetail = z
  .object({
    import: shownImport,
    from: z.array(z.string()).describe("The imported files or addresses"),
    time_zone: z.string().nullable(),
    acts: z.array(auditEntry).describe("Audit entries of the import and its undoing, newest first"),
    obstacle: z.string().nullable().describe("Why the import cannot be undone; null: no obstacle is known"),
    report: z
      .object({
        path: z.string().nullable().describe("The report's file, on the machine that the import ran on"),
        reasons: z
          .array(z.object({ reason: z.string(), count }).strict())
          .describe("How often each reason occurred, the most frequent first"),
        entries: count,
        kept: count.describe("How many of the entries are kept for reading: the first ones"),
      })
      .strict()
      .nullable()
      .describe("Null: there was nothing to report, or the import did not finish"),
  })
  .strict();
export type ImportDetail = z.infer<typeof importDetail>;

/** One thing that an import left out, repaired, or imported with a warning. */
const reportEntry = z
  .object({
    number: z.number().int().min(1),
    part: z.string().describe("The file or feed"),
    record: z.string().nullable().describe("A line of the file, or the id of a station or vehicle"),
    field: z.string().nullable(),
    value: z.string().nullable(),
    reason: z.string(),
    // rejected: the record was left out. refused: the whole file was. repaired, warning: the record was imported.
    outcome: z.enum(["rejected", "refused", "repaired", "warning"]),
  })
  .strict();
export type ImportReportEntry = z.infer<typeof reportEntry>;

const base = "/console/v1/systems/:system_id/imports";

/** Endpoints with which the operator sees and undoes the imports into a system. */
export const importEndpoints = {
  list: {
    method: "GET",
    path: base,
    summary: "The imports, newest first",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
    query: z.object(consolePageQuery).strict(),
    responses: { 200: consolePage(shownImport), ...consoleErrors },
  },
  get: {
    method: "GET",
    path: `${base}/:id`,
    summary: "An import, who made it, and what was wrong with its files",
    metadata: consoleNeeds("operator"),
    pathParams: systemItemPath,
    query: noQuery,
    responses: { 200: importDetail, ...consoleErrors },
  },
  report: {
    method: "GET",
    path: `${base}/:id/report`,
    summary: "What an import left out or repaired, in the order of its files",
    metadata: consoleNeeds("operator"),
    pathParams: systemItemPath,
    query: z.object({ ...consolePageQuery, reason: z.string(givenOnce()).max(200).optional() }).strict(),
    responses: { 200: consolePage(reportEntry), ...consoleErrors },
  },
  undo: {
    method: "POST",
    path: `${base}/:id/undo`,
    summary: "Remove what an import created; an undo that was interrupted goes on",
    metadata: consoleNeeds("operator", "admin", { conflicts: ["conflict"] }),
    pathParams: systemItemPath,
    query: noQuery,
    body: z.object({}).strict(),
    responses: {
      200: z
        .object({
          is_decided: z
            .boolean()
            .describe(
              "False: counting what the import created takes longer; if the undo is refused, an entry in `acts` will say so",
            ),
          import: shownImport,
        })
        .strict(),
      409: errorBody,
      ...consoleErrors,
      ...consoleBodyErrors,
    },
  },
} as const;
