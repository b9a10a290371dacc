import { z } from "zod";
import {
  COARSE_MINUTES,
  DOWNLOAD_LINK_MINUTES,
  EXPORT_MONTH,
  exportFormatNames,
  exportKinds,
  exportPrivacyNames,
} from "./export-words.ts";
import { MIN_FLOW_RIDES } from "./limits.ts";
import { namedObject } from "./named-object.ts";
import { listOf, pagingQuery } from "./paging.ts";
import { givenOnce, identifier, textOf, timestamp } from "./values.ts";

export const exportKind = z.enum(exportKinds).describe("What the rows of the file are");
export const exportFormat = z.enum(exportFormatNames).describe("`csv` is gzipped");
export const exportPrivacy = z
  .enum(exportPrivacyNames)
  .describe(
    `How much the file reveals about rides. \`coarse\`: times to ${COARSE_MINUTES} minutes, no pair of stations with fewer than ${MIN_FLOW_RIDES} rides; \`stations\`: times to the second, as Citi Bike and others publish; \`full\`: also the service's own ride ids`,
  );

/** A month of the system's time zone, such as `2026-10`. */
export const exportMonth = z.string().regex(EXPORT_MONTH);

/** A month in a query string. */
export const monthParam = textOf("month", givenOnce());

/** A month in a request's body. */
export const givenMonth = textOf("month");

const count = z.number().int().min(0);

/** How many rides of the month the file leaves out, by reason. */
export const leftOut = z
  .object({
    not_completed: count.describe("Rides that are under way or were cancelled"),
    short: count.describe("Rides under 60 s: a bike that was tried and put back"),
    ended_by_operator: count.describe("Rides that were ended by staff or a time limit, not by the rider"),
    rare: count.describe(
      "`coarse`: rides whose pair of stations has too few rides, and whose pair of regions has too few or is unknown",
    ),
  })
  .strict();
export type LeftOut = z.infer<typeof leftOut>;

/** The facts about a finished file, which lists, manifests and pages share. */
export const exportFacts = {
  kind: exportKind,
  month: exportMonth.nullable().describe("The month, in the system's time zone; null: the file does not cover a month"),
  format: exportFormat,
  privacy: exportPrivacy.nullable().describe("Null: the file is not about rides"),
  file_name: z.string(),
  bytes: count,
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .describe("SHA-256 of the file, hexadecimal"),
  rows: count,
  left_out: leftOut
    .nullable()
    .describe("Rides of the month that the file leaves out; null: the file is not about rides"),
  merged: count.nullable().describe("`coarse`: rides that name regions instead of stations; null: not `coarse`"),
  as_of: timestamp.describe("When the data was read. Rides reported later are only in later exports"),
  time_zone: z.string().describe("Time zone of the month and of local times in CSV, as an IANA name"),
  licence: z.string().nullable().describe("An SPDX identifier or an address; null: the operator has named none"),
};

export const exportFile = namedObject("Export", "A finished file of open data.", {
  id: identifier,
  ...exportFacts,
  made_at: timestamp,
  download_url: z
    .string()
    .describe(
      `Where to download the file without a key; works until \`download_expires_at\`, at least ${DOWNLOAD_LINK_MINUTES} minutes from now. Treat it as a secret`,
    ),
  download_expires_at: timestamp,
});
export type ExportFile = z.infer<typeof exportFile>;

export const exportList = listOf(exportFile, { title: "ExportList", description: "One page of exports." });

export const exportListQuery = z
  .object({
    ...pagingQuery,
    kind: z.enum(exportKinds, givenOnce()).optional().describe("Only files of this kind"),
    month: monthParam.optional().describe("Only files of this month, such as `2026-10`"),
    format: z.enum(exportFormatNames, givenOnce()).optional().describe("Only files in this format"),
  })
  .strict();

/** The manifest that is stored next to a file. */
export const exportManifest = z
  .object({
    ...exportFacts,
    system_id: identifier,
    system_name: z.string(),
    operator: z.string().nullable(),
    period: z
      .object({ from: timestamp, to: timestamp.describe("The end, not part of the period") })
      .strict()
      .nullable(),
    privacy_text: z.string().nullable(),
    columns: z.array(z.object({ name: z.string(), type: z.string(), text: z.string() }).strict()),
    made_by: z.string(),
  })
  .strict();
export type ExportManifest = z.infer<typeof exportManifest>;
