import { extendApi } from "@anatine/zod-openapi";
import { z } from "zod";
import { alertType } from "./alerts.ts";
import { type MdsReason, mdsReasons, mdsSpecialGroups } from "./mds/words.ts";
import { issueText } from "./messages.ts";
import { endReason, riderCategory } from "./rides.ts";
import { textInLanguages } from "./text-in-languages.ts";
import { isOneLine, isText, isWebAddress } from "./text-rules.ts";
import { givenIdentifier, textOf, givenInstant } from "./values.ts";

/* The items of the operator's batches: stations, bikes, rides and alerts. operator.ts has the endpoints that take them. */

/** Most characters of a name. */
export const MAX_NAME_LENGTH = 255;
/** Most characters of a description. */
const MAX_DESCRIPTION_LENGTH = 5_000;
/** Most characters of an address. */
export const MAX_ADDRESS_LENGTH = 1000;

const latitude = z.number().min(-90).max(90);
const longitude = z.number().min(-180).max(180);
const count = z
  .number()
  .int()
  .min(0)
  .max(2 ** 31 - 1); // the maximum of the database's integers

/** Returns the schema of a text that is one line, such as a name. */
function oneLine(maxLength: number) {
  return z
    .string()
    .min(1, issueText("empty"))
    .max(maxLength, issueText("tooLong", { limit: maxLength }))
    .refine(isOneLine, issueText("oneLine"));
}

/** Returns the schema of a batch's item, under its name in the OpenAPI documents. */
function item<Fields extends z.ZodRawShape>(title: string, fields: Fields, description?: string) {
  return extendApi(z.object(fields).strict(), { title, ...(description !== undefined && { description }) });
}

/** Like `item`, for items with fields that need another one (`PairedFields`), such as `lat` and `lon`. */
function itemWithPairs<Fields extends z.ZodRawShape>(title: string, fields: Fields, description?: string) {
  const schema = z
    .object(fields)
    .strict()
    .superRefine((given, context) => {
      for (const [path, message] of issuesOfPairs(given))
        context.addIssue({ code: z.ZodIssueCode.custom, path: [path], message });
    });
  return extendApi(schema, { title, ...(description !== undefined && { description }) });
}

/** Fields that are valid only together with another one. An item has some of them. */
interface PairedFields {
  readonly lat?: number | undefined;
  readonly lon?: number | undefined;
  readonly vehicle_state?: string | undefined;
  readonly reason?: string | undefined;
  readonly standard_cost?: number | null | undefined;
  readonly actual_cost?: number | null | undefined;
  readonly currency?: string | null | undefined;
}

/** A field that is missing or does not fit another one, and what is wrong with it. */
type PairIssue = readonly [path: string, message: string];

/** Returns what is wrong with the paired fields of an item. */
function issuesOfPairs(given: PairedFields): readonly PairIssue[] {
  return [...issuesOfPosition(given), ...issuesOfReason(given), ...issuesOfCosts(given)];
}

/** Says that a field is missing although another one is given. */
function missing(path: string, field: string): PairIssue {
  return [path, issueText("givenWith", { field })];
}

function issuesOfPosition({ lat, lon }: PairedFields): readonly PairIssue[] {
  if (lat === undefined && lon !== undefined) return [missing("lat", "lon")];
  if (lon === undefined && lat !== undefined) return [missing("lon", "lat")];
  return [];
}

/** The reasons of each state that has some. */
const reasonsByState: ReadonlyMap<string, readonly string[]> = new Map(Object.entries(mdsReasons));

/** Checks that a reason comes with a state, and is one of those that agencies know of this state. */
function issuesOfReason({ vehicle_state: state, reason }: PairedFields): readonly PairIssue[] {
  if (reason === undefined) return [];
  if (state === undefined) return [missing("vehicle_state", "reason")];
  const reasons = reasonsByState.get(state);
  if (reasons === undefined) return [["reason", issueText("noReason", { state })]];
  return reasons.includes(reason) ? [] : [["reason", issueText("enum", { values: reasons.join(", ") })]];
}

function issuesOfCosts(given: PairedFields): readonly PairIssue[] {
  const cost = (["standard_cost", "actual_cost"] as const).find((name) => typeof given[name] === "number");
  return cost !== undefined && typeof given.currency !== "string" ? [missing("currency", cost)] : [];
}

/** An operator's description of a station. Fields that a later upsert omits stay as they were. */
export const stationUpsert = itemWithPairs("StationUpsert", {
  id: textOf("givenIdentifier", { description: "Your own id of the station: stable, never reused" }),
  name: oneLine(MAX_NAME_LENGTH).optional().describe("Needed for a new station"),
  short_name: oneLine(MAX_NAME_LENGTH).nullable().optional(),
  lat: latitude.optional().describe("Needed for a new station. WGS 84 degrees"),
  lon: longitude.optional().describe("Needed for a new station. WGS 84 degrees"),
  address: oneLine(MAX_ADDRESS_LENGTH).nullable().optional(),
  region_id: givenIdentifier.nullable().optional(),
  capacity: count.nullable().optional().describe("Total number of docks"),
  is_virtual_station: z.boolean().optional().describe("False for a new station, when left out"),
  is_installed: z.boolean().optional().describe("True for a new station, when left out"),
  is_renting: z.boolean().optional().describe("True for a new station, when left out"),
  is_returning: z.boolean().optional().describe("True for a new station, when left out"),
  num_docks_available: count.nullable().optional(),
  num_docks_disabled: count.nullable().optional(),
});
export type StationUpsert = z.infer<typeof stationUpsert>;

/** States that a bike's own reports and its upserts may put it into; the others follow from rides and reservations. */
export const reportedVehicleState = z.enum(["available", "non_operational", "non_contactable", "missing", "removed"]);

const bikeFields = {
  vehicle_state: reportedVehicleState
    .optional()
    .describe("`on_trip` and `reserved` cannot be set: they follow from rides and reservations"),
  station_id: givenIdentifier.nullable().optional().describe("Null: the bike stands outside a station"),
  lat: latitude.optional().describe("With `lon`. WGS 84 degrees"),
  lon: longitude.optional().describe("With `lat`. WGS 84 degrees"),
  current_range_meters: count.nullable().optional(),
  reason: z
    .enum([...new Set(Object.values(mdsReasons).flat())] as [MdsReason, ...MdsReason[]])
    .optional()
    .describe("Why the bike is in the given `vehicle_state`. Only agencies (MDS) see this"),
  battery_percent: z.number().int().min(0).max(100).nullable().optional().describe("Only agencies (MDS) see this"),
};

/** An operator's description of a bike. Fields that a later upsert omits stay as they were. */
export const bikeUpsert = itemWithPairs("BikeUpsert", {
  id: textOf("givenIdentifier", { description: "Your own id of the bike: stable, never reused" }),
  number: oneLine(MAX_NAME_LENGTH).nullable().optional().describe("The number or name painted on the bike"),
  vehicle_type_id: givenIdentifier.nullable().optional(),
  ...bikeFields,
});
export type BikeUpsert = z.infer<typeof bikeUpsert>;

/**
 * A report of a bike's state. Reports may come late and twice: the latest by time of occurrence counts, not the latest to
 * arrive.
 */
export const bikeReport = itemWithPairs(
  "BikeReport",
  { id: givenIdentifier, at: givenInstant, ...bikeFields },
  "What a bike reported about itself at the instant `at`.",
);
export type BikeReport = z.infer<typeof bikeReport>;

const specialGroup = z
  .enum(mdsSpecialGroups)
  .nullable()
  .optional()
  .describe("The rider's group. Only agencies see it, counted in MDS reports");

/** The start of a ride. */
export const rideStart = item("RideStart", {
  id: textOf("givenIdentifier", {
    description: "Your own id of the ride; sending the same start again changes nothing",
  }),
  bike_id: givenIdentifier,
  started_at: givenInstant.optional().describe("Now, when left out"),
  start_station_id: givenIdentifier.nullable().optional().describe("When left out: the station where the bike stands"),
  rider_category: riderCategory.nullable().optional(),
  reservation_id: givenIdentifier
    .optional()
    .describe("The reservation that the ride fulfils. When left out: the bike's reservation, if any"),
  special_group: specialGroup,
});
export type RideStart = z.infer<typeof rideStart>;

/** Where a ride ended outside a station, for commands that end or correct it. */
const endLocation = {
  lat: latitude.optional().describe("With `lon`: where the ride ended, outside a station. WGS 84 degrees"),
  lon: longitude.optional().describe("With `lat`. WGS 84 degrees"),
};

/** The costs of a ride. Only agencies read them. */
const costs = {
  standard_cost: count
    .nullable()
    .optional()
    .describe("The standard price of such a ride, in the currency's smallest unit"),
  actual_cost: count.nullable().optional().describe("What the rider paid, in the currency's smallest unit"),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, issueText("currency"))
    .nullable()
    .optional()
    .describe("ISO 4217 code; required with a cost"),
};

/** The end of a ride. */
export const rideEnd = itemWithPairs("RideEnd", {
  id: givenIdentifier,
  ended_at: givenInstant.optional().describe("Now, when left out"),
  end_station_id: givenIdentifier.nullable().optional().describe("Null or left out: the ride ended outside a station"),
  ...endLocation,
  distance_meters: count.nullable().optional(),
  end_reason: endReason
    .exclude(["cancelled"])
    .optional()
    .describe("When left out: `returned` at a station, otherwise `free_floating`"),
  ...costs,
});
export type RideEnd = z.infer<typeof rideEnd>;

/** The cancellation of a ride that did not take place. */
export const rideCancel = item("RideCancel", {
  id: givenIdentifier,
  cancelled_at: givenInstant.optional().describe("Now, when left out"),
});
export type RideCancel = z.infer<typeof rideCancel>;

/** A correction of a ride that has ended. */
export const rideCorrection = itemWithPairs(
  "RideCorrection",
  {
    id: givenIdentifier,
    ended_at: givenInstant.optional(),
    start_station_id: givenIdentifier.nullable().optional().describe("Null: the ride began outside a station"),
    end_station_id: givenIdentifier
      .nullable()
      .optional()
      .describe("Null, or left out when `lat` and `lon` are given: the ride ended outside a station"),
    ...endLocation,
    distance_meters: count.nullable().optional(),
    end_reason: endReason
      .exclude(["cancelled"])
      .optional()
      .describe("When left out: `returned` or `free_floating` changes to fit `end_station_id`; other reasons stay"),
    rider_category: riderCategory.nullable().optional(),
    ...costs,
  },
  "The correct values of a ride that has ended. Fields that are left out stay as they were.",
);
export type RideCorrection = z.infer<typeof rideCorrection>;

/** A ride of the past, for the history. It makes no events and moves no bike. */
export const pastRide = extendApi(
  z
    .object({
      id: givenIdentifier,
      bike_id: givenIdentifier,
      started_at: givenInstant,
      ended_at: givenInstant,
      start_station_id: givenIdentifier.nullable().optional(),
      end_station_id: givenIdentifier.nullable().optional(),
      distance_meters: count.nullable().optional(),
      vehicle_type_id: givenIdentifier.nullable().optional(),
      rider_category: riderCategory.nullable().optional(),
      end_reason: endReason.nullable().optional(),
      special_group: specialGroup,
      ...costs,
    })
    .strict()
    .superRefine((ride, ctx) => {
      for (const [path, message] of issuesOfPairs(ride))
        ctx.addIssue({ code: z.ZodIssueCode.custom, path: [path], message });
      if (Date.parse(ride.ended_at) >= Date.parse(ride.started_at)) return;
      ctx.addIssue({
        code: z.ZodIssueCode.custom,
        path: ["ended_at"],
        message: issueText("notBefore", { field: "started_at" }),
      });
    }),
  { title: "PastRide" },
);
export type PastRideUpsert = z.infer<typeof pastRide>;

/** Most languages of a text. */
const MAX_LANGUAGES = 20;
/** Maximum stations, and maximum regions, that an alert names. An alert about the whole system names none. */
const MAX_ALERT_PLACES = 1_000;
/** Most times of an alert. */
const MAX_ALERT_TIMES = 50;

/** A text for riders: one text in the system's main language, or one in each of several languages. */
function ridersText<Text extends z.ZodType<string, z.ZodTypeDef, string>>(text: Text) {
  const language = z.string().regex(/^[a-z]{2,3}(-[A-Z]{2})?$/, issueText("language"));
  const texts = z
    .array(z.object({ text, language }).strict())
    .min(1)
    .max(MAX_LANGUAGES)
    .refine((all) => new Set(all.map((each) => each.language)).size === all.length, issueText("repeatedLanguage"));
  return textInLanguages(text, texts);
}

const summary = ridersText(oneLine(MAX_NAME_LENGTH));

const alertPeriod = z
  .object({ start: givenInstant.optional(), end: givenInstant.optional() })
  .strict()
  .superRefine(({ start, end }, context) => {
    if (start === undefined || end === undefined || Date.parse(end) >= Date.parse(start)) return;
    context.addIssue({
      code: z.ZodIssueCode.custom,
      path: ["end"],
      message: issueText("notBefore", { field: "start" }),
    });
  });

/** An alert to riders. Fields that a later upsert omits stay as they were. */
export const alertUpsert = item("AlertUpsert", {
  id: textOf("givenIdentifier", { description: "Your own id of the alert" }),
  type: alertType.optional().describe("Needed for a new alert"),
  summary: summary
    .optional()
    .describe(
      "Needed for a new alert. One line in the system's main language, or one line for each of several languages",
    ),
  description: ridersText(
    z
      .string()
      .min(1, issueText("empty"))
      .max(MAX_DESCRIPTION_LENGTH, issueText("tooLong", { limit: MAX_DESCRIPTION_LENGTH }))
      .refine(isText, issueText("nul")),
  )
    .nullable()
    .optional(),
  url: ridersText(
    z
      .string()
      .max(MAX_ADDRESS_LENGTH, issueText("tooLong", { limit: MAX_ADDRESS_LENGTH }))
      .refine(isWebAddress, issueText("webAddress")),
  )
    .nullable()
    .optional(),
  times: z
    .array(alertPeriod)
    .max(MAX_ALERT_TIMES)
    .optional()
    .describe("When the alert applies; the alert ends when all periods are over. Empty: until you end the alert"),
  station_ids: z
    .array(givenIdentifier)
    .max(MAX_ALERT_PLACES)
    .optional()
    .describe("Both `station_ids` and `region_ids` empty: the whole system"),
  region_ids: z.array(givenIdentifier).max(MAX_ALERT_PLACES).optional(),
});
export type AlertUpsert = z.infer<typeof alertUpsert>;

/** Names an alert to be ended. */
export const alertEnd = item("AlertEnd", { id: givenIdentifier });
export type AlertEnd = z.infer<typeof alertEnd>;

/** Names a station to be taken offline. */
export const stationOffline = item("StationOffline", {
  id: givenIdentifier,
  summary: summary
    .optional()
    .describe("One line for riders: opens an alert of the type `station_closure` with this text, or changes its text"),
});
export type StationOffline = z.infer<typeof stationOffline>;

/** Names the station of a command. */
export const stationCommand = item("StationCommand", { id: givenIdentifier });
export type StationCommand = z.infer<typeof stationCommand>;
