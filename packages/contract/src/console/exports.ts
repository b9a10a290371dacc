import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { MAX_KEEP_MONTHS } from "../export-words.ts";
import { exportFacts, exportFormat, exportKind, exportMonth, exportPrivacy, givenMonth } from "../exports.ts";
import { identifier, timestamp } from "../values.ts";
import {
  changeErrors,
  consoleErrors,
  consoleNeeds,
  consolePageQuery,
  done,
  systemItemPath,
  systemPath,
} from "./endpoint.ts";

/* Files of open data on the dashboard: the operator has them made once, or each month by a schedule, and downloads them. */

/** What a person chooses for an export: what the file contains, and who may have it. */
const choice = {
  kind: exportKind,
  format: exportFormat,
  privacy: exportPrivacy.nullable().describe("Null for every kind except rides"),
  is_shared: z.boolean().describe("Whether partners with the scope `exports:read` may download the file"),
};

const shownExport = z
  .object({
    id: identifier,
    ...choice,
    month: exportMonth.nullable().describe("Null: the file does not cover a month"),
    state: z.enum(["waiting", "running", "ready", "failed"]),
    requested_at: timestamp,
    requested_by: z.string(),
    is_scheduled: z.boolean(),
    rows_done: z.number().int().min(0).describe("Rows written so far"),
    problem: z.string().nullable().describe("Why the file could not be made; null: no problem"),
    finished_at: timestamp.nullable(),
    file: z.object(exportFacts).strict().nullable().describe("Null: the file is not finished"),
    is_here: z.boolean().nullable().describe("Whether this process has the file; null: the file is not finished"),
  })
  .strict();
export type ShownExport = z.infer<typeof shownExport>;

const shownSchedule = z
  .object({
    id: identifier,
    ...choice,
    keep_months: z.number().int().min(1),
    created_at: timestamp,
    created_by: z.string(),
  })
  .strict();
export type ShownExportSchedule = z.infer<typeof shownSchedule>;

const base = "/console/v1/systems/:system_id/exports";
const schedules = "/console/v1/systems/:system_id/export-schedules";
const changes = consoleNeeds("operator", "admin", { conflicts: ["conflict"] });

/** How many of a session's 600 requests a minute a download costs: a person may begin 30 downloads in a minute. */
const DOWNLOAD_COST = 20;

/** Endpoints with which the operator makes files of open data. */
export const exportEndpoints = {
  list: {
    method: "GET",
    path: base,
    summary: "Exports, the newest first, and the schedules",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
    query: z.object(consolePageQuery).strict(),
    responses: {
      200: z
        .object({
          data: z.array(shownExport),
          next_cursor: z.string().min(1).optional(),
          schedules: z.array(shownSchedule),
          licence: z.string().nullable().describe("The licence of new files; null: none is set"),
          last_month: exportMonth.describe("The month before the present one, in the system's time zone"),
        })
        .strict(),
      ...consoleErrors,
    },
  },
  create: {
    method: "POST",
    path: base,
    summary: "Have a file made",
    metadata: changes,
    pathParams: systemPath,
    query: noQuery,
    body: z.object({ ...choice, month: givenMonth.nullable() }).strict(),
    responses: { 200: shownExport, ...changeErrors },
  },
  share: {
    method: "POST",
    path: `${base}/:id/share`,
    summary: "Share a file with partners, or stop sharing it",
    metadata: changes,
    pathParams: systemItemPath,
    query: noQuery,
    body: z.object({ is_shared: z.boolean() }).strict(),
    responses: { 200: shownExport, ...changeErrors },
  },
  remove: {
    method: "POST",
    path: `${base}/:id/remove`,
    summary: "Delete a file, or give up one that is being made",
    metadata: changes,
    pathParams: systemItemPath,
    query: noQuery,
    body: z.object({}).strict(),
    responses: { 200: done, ...changeErrors },
  },
  download: {
    method: "GET",
    path: `${base}/:id/file`,
    summary: "The file",
    metadata: consoleNeeds("operator", "viewer", { cost: DOWNLOAD_COST }),
    pathParams: systemItemPath,
    query: noQuery,
    responses: { 200: z.string(), ...consoleErrors },
  },
  addSchedule: {
    method: "POST",
    path: schedules,
    summary: "Have a file made of each month, some days after its end, when late reports of its rides have arrived",
    metadata: changes,
    pathParams: systemPath,
    query: noQuery,
    body: z.object({ ...choice, keep_months: z.number().int().min(1).max(MAX_KEEP_MONTHS) }).strict(),
    responses: { 200: shownSchedule, ...changeErrors },
  },
  removeSchedule: {
    method: "POST",
    path: `${schedules}/:id/remove`,
    summary: "Stop a schedule; its files stay",
    metadata: changes,
    pathParams: systemItemPath,
    query: noQuery,
    body: z.object({}).strict(),
    responses: { 200: done, ...changeErrors },
  },
} as const;
