import { MAX_MESSAGES_PER_HOUR, type Threshold, threshold } from "@bikeshare/contract";
import { integer } from "../runtime/startup/values.ts";
import { offeredEvents } from "../webhooks/endpoints/endpoint-context.ts";
import type { Places } from "../webhooks/endpoints/endpoint-places.ts";
import { previewEndpoint } from "../webhooks/endpoints/endpoint-preview.ts";
import { findShownEndpoint } from "../webhooks/endpoints/endpoint-view.ts";
import { type OpenCli, type ParentCommand, runOnSystem } from "./context.ts";
import { endpointOption, listOf, option, partnerOption, UsageError } from "./options.ts";
import { table } from "./output.ts";

/* Options that decide what an endpoint receives (events, places, thresholds, the hourly limit), and `webhooks preview`. */

export const EVENTS = `events to send, or patterns such as ride.*: ${offeredEvents.join(", ")}`;
export const stationsOption = () => option("--stations <a,b>", "only events at these stations", listOf(String));
export const regionsOption = () => option("--regions <a,b>", "only events in these regions", listOf(String));
export const BBOX = ["--bbox <box>", "only events within min_lon,min_lat,max_lon,max_lat"] as const;

export const thresholdsOption = () =>
  option(
    "--thresholds <a;b>",
    'when to send station.below_threshold, such as "bikes<1 for 10m at HARBOUR; docks<2 for 1h in CENTRE"',
    (text) => text.split(";").map(thresholdFrom),
  );
export const NO_THRESHOLDS = ["--no-thresholds", "watch no stations"] as const;
export const maxPerHourOption = () =>
  option("--max-per-hour <n>", "send so many new events an hour, and skip the rest", integer(1, MAX_MESSAGES_PER_HOUR));
export const NO_MAX_PER_HOUR = ["--no-max-per-hour", "send all events of an hour"] as const;

const THRESHOLD = /^(bikes|docks)\s*<\s*(\d{1,6})\s+for\s+(\d{1,6})\s*(m|h)(?:\s+at\s+(\S+))?(?:\s+in\s+(\S+))?$/;

/** Reads `bikes<1 for 10m at A,B in C`: stations after `at`, regions after `in`. @throws Error */
function thresholdFrom(text: string): Threshold {
  // A text of another form leaves every part undefined, which the schema rejects.
  const [, count, fewerThan, time, unit, stations, regions] = THRESHOLD.exec(text.trim()) ?? [];
  const read = threshold.safeParse({
    count,
    fewer_than: Number(fewerThan),
    for_minutes: Number(time) * (unit === "h" ? 60 : 1),
    station_ids: stations?.split(",") ?? [],
    region_ids: regions?.split(",") ?? [],
  });
  if (!read.success) throw new Error('must be like "bikes<1 for 10m at A,B" or "docks<3 for 1h in CENTRE"');
  return read.data;
}

/** Returns thresholds as `--thresholds` takes them. */
export function thresholdTexts(thresholds: readonly Threshold[]): string[] {
  return thresholds.map(({ count, fewer_than: fewerThan, for_minutes: minutes, station_ids, region_ids }) => {
    const at = station_ids.length === 0 ? "" : ` at ${station_ids.join(",")}`;
    return `${count}<${fewerThan} for ${minutes}m${at}${region_ids.length === 0 ? "" : ` in ${region_ids.join(",")}`}`;
  });
}

/** Options that `--no-…` sets to false, which removes the setting. */
interface GivenConditions {
  readonly thresholds?: readonly Threshold[] | false | undefined;
  readonly maxPerHour?: number | false | undefined;
}

/** Returns the thresholds and the limit that options give; undefined: they stay. */
export function conditionsFrom({ thresholds, maxPerHour }: GivenConditions) {
  return {
    thresholds: thresholds === false ? [] : thresholds,
    max_per_hour: maxPerHour === false ? null : maxPerHour,
  };
}

interface GivenPlaces {
  readonly stations?: readonly string[] | undefined;
  readonly regions?: readonly string[] | undefined;
  readonly bbox?: string | undefined;
  readonly everywhere?: true | undefined;
}

/** Returns the places that options name together; null: everywhere; undefined: none is given. */
export function placesFrom({ stations, regions, bbox, everywhere }: GivenPlaces): Places | null | undefined {
  const isGiven = stations !== undefined || regions !== undefined || bbox !== undefined;
  if (everywhere === true && isGiven) throw new UsageError("Give --everywhere, or the places; not both.");
  if (everywhere === true) return null;
  return isGiven ? { station_ids: stations ?? [], region_ids: regions ?? [], bbox: bbox ?? null } : undefined;
}

/** Registers `webhooks preview`. */
export function registerPreview(webhooks: ParentCommand, cli: OpenCli): void {
  webhooks
    .command("preview")
    .description("count what an endpoint would have been sent in the last 24 hours, with other settings if given")
    .requiredOption(...partnerOption)
    .option(...endpointOption)
    .addOption(option("--events <a,b>", EVENTS, listOf(String)))
    .addOption(stationsOption())
    .addOption(regionsOption())
    .option(...BBOX)
    .option("--everywhere", "events of any place")
    .addOption(thresholdsOption())
    .option(...NO_THRESHOLDS)
    .addOption(maxPerHourOption())
    .option(...NO_MAX_PER_HOUR)
    .action(({ partner: partnerId, endpoint: endpointRef, events, maxPerHour, ...others }) => {
      const places = placesFrom(others);
      const { thresholds, max_per_hour } = conditionsFrom({ ...others, maxPerHour });
      return runOnSystem(cli(), async (context) => {
        const scope = { systemId: context.systemId, partnerId, endpointRef };
        const isWhole = [events, places, thresholds, max_per_hour].every((value) => value !== undefined);
        // Settings that no option gives are those that the endpoint has.
        const present = isWhole ? undefined : await findShownEndpoint(context, scope);
        const settings = {
          events: events ?? present?.events ?? [],
          places: places === undefined ? (present?.places ?? null) : places,
          thresholds: thresholds ?? present?.thresholds ?? [],
          max_per_hour: max_per_hour === undefined ? (present?.max_per_hour ?? null) : max_per_hour,
        };
        const preview = await previewEndpoint(context, scope, settings);
        const empty = "In the last 24 hours nothing would have been sent.";
        return {
          object: preview,
          table: table(preview.by_event, { event: "event", deliveries: "deliveries" }, empty),
          notes: [
            ...(preview.skipped === 0
              ? []
              : [`${preview.skipped} of them would have been skipped: too many in an hour.`]),
            NOT_COUNTED,
            ...(preview.is_complete ? [] : ["There were more events: the latest were counted."]),
          ],
        };
      });
    });
}

const NOT_COUNTED = "Not counted: station.updated and bike.state_changed, which are not kept.";

/** Returns the places in words. */
export function placesText(places: Places | null): string {
  if (places === null) return "anywhere";
  const { station_ids: stations, region_ids: regions, bbox } = places;
  const parts = [
    ...(stations.length === 0 ? [] : [`stations ${stations.join(", ")}`]),
    ...(regions.length === 0 ? [] : [`regions ${regions.join(", ")}`]),
    ...(bbox === null ? [] : [`the box ${bbox}`]),
  ];
  return parts.join("; ");
}
