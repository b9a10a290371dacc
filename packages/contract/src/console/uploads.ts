import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { MAX_BODY_BYTES, MAX_TIME_ZONE } from "../limits.ts";
import { givenOnce, identifier, timestamp } from "../values.ts";
import { changeErrors, consoleErrors, consoleNeeds, done, systemItemPath, systemPath } from "./endpoint.ts";

/*
 * Uploads of trip files on the dashboard. A file is sent in parts (state `receiving`). A trial then shows what an import
 * would do (`tried`), and the operator starts the import or tries another time zone. The trial and the import are background
 * work (`waiting`, then `running`).
 */

/** Maximum bytes of an upload as sent. The browser compresses a file that is not compressed yet. */
export const MAX_UPLOAD_BYTES = 1024 ** 3;
/** Maximum bytes of an uploaded file after decompression: enough for a year of trips of the largest system. */
export const MAX_UPLOAD_TEXT_BYTES = 8 * 1024 ** 3;

const count = z.number().int().min(0);
const counts = z.record(z.string(), count);

/** What a trial or an import of a file would do, or has done. */
const uploadResult = z
  .object({
    rows: count,
    created: count,
    unchanged: count.describe("Rides that were stored already"),
    rejected: count,
    reasons: counts.describe("How often each reason of a rejection occurred"),
    warnings: counts,
    stations_created: count,
    first_at: timestamp.nullable().describe("When the first of the file's rides started"),
    last_at: timestamp.nullable(),
    formats: z.array(
      z
        .object({ name: z.string(), columns: z.array(z.string()), dropped: z.array(z.string()) })
        .strict()
        .describe("A kind of trip file that was recognised; `dropped`: columns that are not kept"),
    ),
    refused: z.array(z.object({ file: z.string(), message: z.string() }).strict()).describe("Files that were refused"),
    refused_count: count,
    skipped: count.describe("Number of files that are not trip files, such as a README"),
    entries: z
      .array(
        z
          .object({
            file: z.string(),
            line: z.string().nullable(),
            column: z.string().nullable(),
            value: z.string().nullable(),
            reason: z.string(),
            outcome: z.string(),
          })
          .strict(),
      )
      .describe("The first problems of the file"),
    time_shift: z
      .object({ rows: count, seconds: z.number().int(), import_id: z.string().nullable() })
      .strict()
      .nullable()
      .describe(
        "Rows whose ids are stored with other times, all shifted alike: the time zone may be wrong; null: none",
      ),
  })
  .strict();
export type UploadResult = z.infer<typeof uploadResult>;

const shownUpload = z
  .object({
    id: identifier,
    file_name: z.string(),
    time_zone: z.string(),
    state: z.enum(["receiving", "waiting", "running", "tried", "done", "failed"]),
    step: z.enum(["trial", "import"]),
    bytes: count.describe("Bytes received so far"),
    asked_at: timestamp,
    asked_by: z.string(),
    asked_by_name: z.string().nullable(),
    share: z.number().min(0).max(1).describe("The completed share of the step"),
    rows_done: count,
    import_id: z.string().nullable().describe("The import that the upload became; null: none, or it wrote nothing"),
    result: uploadResult.nullable(),
    problem: z.string().nullable(),
  })
  .strict();
export type ShownUpload = z.infer<typeof shownUpload>;

const base = "/console/v1/systems/:system_id/uploads";
const changes = consoleNeeds("operator", "admin", { conflicts: ["conflict"] });
const zone = z.string().min(1).max(MAX_TIME_ZONE);
const position = z
  .string(givenOnce())
  .regex(/^\d{1,12}$/, "must be a number of bytes")
  .describe("The position of the part’s first byte in the file");

/** Endpoints with which the operator imports a trip file in the browser. A system has one upload at a time. */
export const uploadEndpoints = {
  get: {
    method: "GET",
    path: base,
    summary: "The newest upload, and what a new one needs to know",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
    query: noQuery,
    responses: {
      200: z
        .object({ upload: shownUpload.nullable(), time_zone: z.string().describe("The system’s time zone") })
        .strict(),
      ...consoleErrors,
    },
  },
  begin: {
    method: "POST",
    path: base,
    summary: "Begin to send a file",
    metadata: changes,
    pathParams: systemPath,
    query: noQuery,
    body: z
      .object({
        file_name: z.string().min(1).max(255),
        size: count.describe("Bytes of the file on the person’s disk"),
        is_packed: z.boolean().describe("Whether the file is sent as it is; false: the browser compresses it"),
        time_zone: zone,
      })
      .strict(),
    responses: { 200: shownUpload, ...changeErrors },
  },
  send: {
    method: "POST",
    path: `${base}/:id/parts`,
    summary: `Send the next bytes of a file, at most ${MAX_BODY_BYTES}; sending the same bytes again changes nothing`,
    // A file is sent in hundreds of parts. Each costs 1, as a read does; other changes cost more.
    metadata: { ...consoleNeeds("operator", "admin", { conflicts: ["conflict"], cost: 1 }), takesBytes: true as const },
    pathParams: systemItemPath,
    query: z.object({ start: position, is_last: z.enum(["true", "false"], givenOnce()) }).strict(),
    body: z.instanceof(Uint8Array),
    responses: { 200: shownUpload, ...changeErrors },
  },
  try: {
    method: "POST",
    path: `${base}/:id/try`,
    summary: "Try the file again, with another time zone",
    metadata: changes,
    pathParams: systemItemPath,
    query: noQuery,
    body: z.object({ time_zone: zone }).strict(),
    responses: { 200: shownUpload, ...changeErrors },
  },
  start: {
    method: "POST",
    path: `${base}/:id/start`,
    summary: "Import the file that was tried",
    metadata: changes,
    pathParams: systemItemPath,
    query: noQuery,
    body: z.object({}).strict(),
    responses: { 200: shownUpload, ...changeErrors },
  },
  discard: {
    method: "POST",
    path: `${base}/:id/discard`,
    summary: "Discard a file, unless it is being imported",
    metadata: changes,
    pathParams: systemItemPath,
    query: noQuery,
    body: z.object({}).strict(),
    responses: { 200: done, ...changeErrors },
  },
} as const;
