import { z } from "zod";
import { MAX_FEWER_THAN, MAX_FOR_MINUTES } from "./limits.ts";
import { namedObject } from "./named-object.ts";
import { station } from "./stations.ts";
import { identifier, timestamp } from "./values.ts";

/** What a threshold counts at a station: `num_bikes_available` or `num_docks_available`. */
export const thresholdCount = z.enum(["bikes", "docks"]);

/** Maximum thresholds of an endpoint. Too high: each change of a station takes longer to compare with all of them. */
export const MAX_THRESHOLDS = 20;
/** Maximum stations that the thresholds of an endpoint watch together. Too high: one endpoint delays the alarms of all. */
export const MAX_WATCHED_STATIONS = 5_000;

const condition = {
  count: thresholdCount.describe("`num_bikes_available` or `num_docks_available`"),
  fewer_than: z.number().int().min(1).max(MAX_FEWER_THAN).describe("A station with fewer has too few"),
  for_minutes: z
    .number()
    .int()
    .min(1)
    .max(MAX_FOR_MINUTES)
    .describe("Minutes for which the station must have too few, without interruption"),
};

/** Maximum ids that the schema accepts. The service accepts fewer, and rejects more with a better reason than a schema's. */
const MAX_GIVEN_IDS = 1_000;
const ids = z.array(identifier).max(MAX_GIVEN_IDS);

/** Too few bikes or docks at some stations, for some time. */
export const threshold = z
  .object({ ...condition, station_ids: ids, region_ids: ids })
  .strict()
  .describe(
    "Too few bikes or docks at one of these stations, or of the stations in these regions; both empty: at any station",
  );
export type Threshold = z.infer<typeof threshold>;

/** The thresholds of an endpoint. The schema allows more than `MAX_THRESHOLDS`: the service says why it rejects them. */
export const thresholds = z.array(threshold).max(5 * MAX_THRESHOLDS);

/** A station that crossed a threshold. */
export const thresholdStation = namedObject("ThresholdStation", "A station, and the threshold that it crossed.", {
  ...station.shape,
  threshold: namedObject("CrossedThreshold", "The threshold of your endpoint that the station crossed.", {
    ...condition,
    below_since: timestamp.describe(
      "Since when the station has or had too few; the same in `station.below_threshold` and `station.back_to_normal`",
    ),
  }),
});
export type ThresholdStation = z.infer<typeof thresholdStation>;
