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
    start: timestamp.nullable().describe("Null: it has begun"),
    end: timestamp.nullable().describe("Null: it is not known"),
  })
  .strict();

/** The fields that partners and the operator see in the same form. */
const sharedFields = {
  times: z
    .array(alertTime)
    .describe("When it applies, also in the future; empty: until further notice. The alert ends when all are over"),
  station_ids: z.array(z.string()).describe("The stations that it is about; empty, as `region_ids`: the whole system"),
  region_ids: z.array(z.string()).describe("The regions that it is about"),
  opened_at: timestamp.describe("When it became known: an alert may be open before what it tells of begins"),
  ended_at: timestamp.nullable().describe("Null while it is open"),
  updated_at: timestamp,
};

export const alert = namedObject("Alert", "What riders should know: a closure, a move, a disturbance.", {
  id: identifier,
  type: alertType,
  summary: z.string().describe("One line for riders, in the system's main language where there is one in it"),
  description: z.string().nullable().describe("More of it"),
  url: z.string().nullable().describe("A page with more of it"),
  ...sharedFields,
});
export type Alert = z.infer<typeof alert>;

export const alertList = listOf(alert, { title: "AlertList", description: "One page of alerts." });

export const alertListQuery = z.object(pagingQuery).strict();

/** Where an alert came from. */
const alertSource = z.string().describe("`operator`, or the feed that has the alert");

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
    .describe("The station that was taken offline with this alert, which ends when the station is back"),
});
export type OperatorAlert = z.infer<typeof operatorAlert>;

export const operatorAlertList = listOf(operatorAlert, {
  title: "OperatorAlertList",
  description: "One page of alerts.",
});

export const operatorAlertListQuery = z
  .object({
    ...pagingQuery,
    status: z.enum(["open", "ended"]).optional().describe("Only these; both, when left out"),
  })
  .strict();
