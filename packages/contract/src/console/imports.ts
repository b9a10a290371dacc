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
    at: timestamp.describe("When it began"),
    status: z.enum(["running", "done", "undoing", "undone"]).describe("`running`, `undoing`: or interrupted"),
    created: count.describe("Rides, or stations and bikes"),
    updated: count.describe("Of a feed: stations and bikes that existed before and were changed or removed"),
    unchanged: count,
    rejected: count,
    stations_created: count.describe("Of trips: stations that only they named; of a feed: part of `created`"),
    first_at: timestamp.nullable().describe("When the first of the created rides started"),
    last_at: timestamp.nullable(),
    removed: count.describe("Rides that undoing it has removed so far"),
    undone_at: timestamp.nullable(),
  })
  .strict();
export type ShownImport = z.infer<typeof shownImport>;

const importDetail = z
  .object({
    import: shownImport,
    from: z.array(z.string()).describe("Files or addresses"),
    time_zone: z.string().nullable(),
    acts: z.array(auditEntry).describe("Who imported it, and undid it, the newest first"),
    obstacle: z.string().nullable().describe("Why it cannot be undone; null: nothing is known that speaks against it"),
    report: z
      .object({
        path: z.string().nullable().describe("Its file, on the machine that the import ran on"),
        reasons: z
          .array(z.object({ reason: z.string(), count }).strict())
          .describe("How often each occurred, the most frequent first"),
        entries: count,
        kept: count.describe("How many of them `report` lists: the first ones"),
      })
      .strict()
      .nullable()
      .describe("Null: there was nothing to report, or the import did not come to its end"),
  })
  .strict();
export type ImportDetail = z.infer<typeof importDetail>;

const reportEntry = z
  .object({
    number: z.number().int().min(1),
    part: z.string().describe("The file or feed"),
    record: z.string().nullable().describe("A line of the file, or the id of a station or vehicle"),
    field: z.string().nullable(),
    value: z.string().nullable(),
    reason: z.string(),
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
    summary: "The imports, the newest first",
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
            .describe("False: counting what it created takes longer; an act of the import will say if it is refused"),
          import: shownImport,
        })
        .strict(),
      409: errorBody,
      ...consoleErrors,
      ...consoleBodyErrors,
    },
  },
} as const;
