import { z } from "zod";
import { timestamp } from "../values.ts";

// The report of `bikeshare gbfs check`. The command line, the HTML page that the command writes and the dashboard show it.

const count = z.number().int().min(0);

/** Programs that read feeds and whose rules the check knows. */
export const feedConsumers = ["lamassu", "otp", "motis", "google"] as const;
export type FeedConsumer = (typeof feedConsumers)[number];

export const feedSeverity = z
  .enum(["error", "warning", "note"])
  .describe("error: violates the specification. warning: riders or planners lose something. note: worth a look");
export type FeedSeverity = z.infer<typeof feedSeverity>;

const findingExample = z
  .object({
    path: z.string().describe("The place in the file, such as `data.stations[12].capacity`"),
    id: z.string().nullable().describe("The id of the record"),
    value: z.string().nullable().describe("The value as JSON, shortened"),
  })
  .strict();

/** Equal findings of one file. */
const feedFinding = z
  .object({
    rule: z.string(),
    severity: feedSeverity,
    file: z.string(),
    path: z.string().describe("The place in the file, without item numbers: `data.stations[].capacity`"),
    text: z.string().describe("What is wrong, in one sentence"),
    fix: z.string().describe("How to fix it, in one sentence"),
    count: z.number().int().min(1),
    examples: z.array(findingExample).describe("The first three places"),
  })
  .strict();
export type FeedFinding = z.infer<typeof feedFinding>;

/** One thing in a feed that a consumer drops or misreads. */
const feedLoss = z
  .object({
    text: z.string().describe("What is lost, such as `drops 14 e-bikes without a range`"),
    fix: z.string(),
    count: count.describe("Number of stations, vehicles or other things that are affected"),
  })
  .strict();
export type FeedLoss = z.infer<typeof feedLoss>;

/** How many things the consumer shows, of how many in the feed. */
const shownOf = z.object({ shown: count, of: count }).strict();

/** How much of a feed one consumer can use. */
const feedVerdict = z
  .object({
    consumer: z.enum(feedConsumers),
    name: z.string(),
    about: z.string().describe("Who reads feeds with this program"),
    state: z.enum(["complete", "partial", "nothing"]).describe("partial: something is lost"),
    text: z.string().describe("The result, in one sentence"),
    stations: shownOf,
    vehicles: shownOf,
    losses: z.array(feedLoss),
  })
  .strict();
export type FeedVerdict = z.infer<typeof feedVerdict>;

const checkedFile = z
  .object({
    name: z.string(),
    address: z.string(),
    version: z.string().nullable().describe("The GBFS version that the file declares"),
    records: count.nullable(),
    data_at: timestamp.nullable().describe("The file's `last_updated`"),
    bytes: count,
    milliseconds: count.nullable().describe("Milliseconds until the file was complete; null: it was not fetched"),
    failure: z.string().nullable().describe("Why the file could not be read; null: it could"),
  })
  .strict();
export type CheckedFile = z.infer<typeof checkedFile>;

export const feedReport = z
  .object({
    location: z.string(),
    kind: z.enum(["address", "folder", "own"]).describe("What was checked; own: the system's own feeds"),
    checked_at: timestamp,
    system_id: z.string().nullable(),
    system_name: z.string().nullable(),
    version: z.string().describe("The GBFS version that the feed was checked by"),
    errors: count.describe("Kinds of error; each finding has its count"),
    warnings: count,
    notes: count,
    verdicts: z.array(feedVerdict),
    findings: z.array(feedFinding).describe("The most important first"),
    passed: z.array(z.string()).describe("What was checked and is fine"),
    files: z.array(checkedFile),
  })
  .strict();
export type FeedReport = z.infer<typeof feedReport>;
