import { offeredEvents } from "../webhooks/endpoints/endpoint-context.ts";
import { type Places, previewEndpoint } from "../webhooks/endpoints/endpoint-places.ts";
import { showEndpoint } from "../webhooks/endpoints/endpoint-view.ts";
import { type OpenCli, type ParentCommand, runOnSystem } from "./context.ts";
import { endpointOption, listOf, option, partnerOption, UsageError } from "./options.ts";
import { table } from "./output.ts";

/* What an endpoint is told of: the options for events and places, and `webhooks preview`. */

export const EVENTS = `events to send, or patterns such as ride.*: ${offeredEvents.join(", ")}`;
export const stationsOption = () => option("--stations <a,b>", "only events at these stations", listOf(String));
export const regionsOption = () => option("--regions <a,b>", "only events in these regions", listOf(String));
export const BBOX = ["--bbox <box>", "only events within min_lon,min_lat,max_lon,max_lat"] as const;

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

/** `webhooks preview`. */
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
    .action(({ partner: partnerId, endpoint: endpointRef, events, ...given }) => {
      const places = placesFrom(given);
      return runOnSystem(cli(), async (context) => {
        const scope = { systemId: context.systemId, partnerId, endpointRef };
        const now = events === undefined || places === undefined ? await showEndpoint(context, scope) : undefined;
        const settings = { events: events ?? now?.events ?? [], places: places ?? now?.places ?? null };
        const preview = await previewEndpoint(context, scope, settings);
        const empty = "In the last 24 hours nothing would have been sent.";
        return {
          object: preview,
          table: table(preview.by_event, { event: "event", deliveries: "deliveries" }, empty),
          notes: [NOT_COUNTED, ...(preview.is_complete ? [] : ["There were more events: the latest were counted."])],
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
