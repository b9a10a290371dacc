import { z } from "zod";
import { alertTypes } from "./alert-words.ts";
import { namedObject } from "./named-object.ts";
import { listOf, pagingQuery } from "./paging.ts";
import { identifier, timestamp } from "./values.ts";

/** What an alert is about. */
export const alertType = z.enum(alertTypes).describe("What the alert is about");

/** A period in which an alert applies, such as the days of a closure. */
const alertTime = z
  .object({
    start: timestamp.nullable().describe("Null: the period has begun already"),
    end: timestamp.nullable().describe("Null: the end is not known"),
  })
  .strict();

/** The fields that partners and the operator see in the same form. */
const sharedFields = {
  times: z
    .array(alertTime)
    .describe(
      "When the alert applies, perhaps in the future; empty: until further notice. The alert ends when all periods are over",
    ),
  station_ids: z
    .array(z.string())
    .describe("Stations that the alert is about. Both `station_ids` and `region_ids` empty: the whole system"),
  region_ids: z.array(z.string()).describe("Regions that the alert is about"),
  opened_at: timestamp.describe("When the alert was opened, which may be before its `times`"),
  ended_at: timestamp.nullable().describe("Null while the alert is open"),
  updated_at: timestamp,
};

export const alert = namedObject("Alert", "What riders should know: a closure, a move, a disturbance.", {
  id: identifier,
  type: alertType,
  summary: z.string().describe("One line for riders, in the system's main language if available"),
  description: z.string().nullable().describe("Details for riders; null: none"),
  url: z.string().nullable().describe("Address of a page with details; null: none"),
  ...sharedFields,
});
export type Alert = z.infer<typeof alert>;

export const alertList = listOf(alert, { title: "AlertList", description: "One page of alerts." });

export const alertListQuery = z.object(pagingQuery).strict();

/** Where an alert came from. */
const alertSource = z.string().describe("`operator`, or the source whose feed lists the alert");

const localText = z.object({ text: z.string(), language: z.string().describe("Such as `nb` or `en-GB`") }).strict();

/** An alert as the operator sees it. */
export const operatorAlert = namedObject("OperatorAlert", "An alert, with its texts in every language.", {
  id: identifier,
  source: alertSource,
  type: alertType,
  summary: z.array(localText),
  description: z.array(localText).nullable(),
  url: z.array(localText).nullable(),
  ...sharedFields,
  closes_station: z
    .string()
    .nullable()
    .describe(
      "The station that was taken offline with this alert; the alert ends when the station is back online. Null: none",
    ),
});
export type OperatorAlert = z.infer<typeof operatorAlert>;

export const operatorAlertList = listOf(operatorAlert, {
  title: "OperatorAlertList",
  description: "One page of alerts.",
});

export const operatorAlertListQuery = z
  .object({
    ...pagingQuery,
    status: z.enum(["open", "ended"]).optional().describe("Only open or only ended alerts; both, when left out"),
  })
  .strict();
