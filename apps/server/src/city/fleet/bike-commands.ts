import type { BatchItem, BatchResults, BikeReport, BikeUpsert, ItemError } from "@bikeshare/contract";
import { isIssue, storedTime } from "@bikeshare/rules";
import type { CommandContext } from "../../command-context.ts";
import { type Batch, type BatchResultWriter, type Indexed, runBatch, runSharedBatch } from "./batch.ts";
import {
  type BikeState,
  type LocatedItem,
  missingStation,
  type NamedStations,
  newBike,
  newPublicId,
  presentStation,
  reportedBike,
  upsertedBike,
} from "./bike.rules.ts";
import type { FleetCommand } from "./command.ts";
import { findNamedStations } from "./station-queries.ts";
import { isOfFeed, OPERATOR } from "./station.rules.ts";

/*
 * Two commands of the operator's backend on bikes: `upsertBikes` creates or changes them, `reportBikes` records what they
 * report at some time, such as a location. Reports may arrive late or twice.
 */

/** Creates bikes, or changes the given fields of existing bikes. */
export function upsertBikes(
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<BikeUpsert>[],
): Promise<BatchResults> {
  return runBatch<BikeUpsert, ItemError<"bikes", "upsert">>(
    context,
    systemId,
    items,
    async (command, { items: readable, results }) => {
      const { now, ids } = command;
      // This map is the command's own: it also shows the bikes that are locked or changed below.
      const bikes = await command.lockBikes(readable.map(({ item }) => item.id));
      const stations = await locationsNamed(command, readable);
      const known = readable.filter((entry) => {
        const bike = bikes.get(entry.item.id);
        return mayChange(entry, bike, results) && mayStand(entry, stations, bike, results);
      });
      const fresh = firstOfEach(known.filter(({ item }) => !bikes.has(item.id)));
      const inserted = await command.insertBikes(
        fresh.map(({ item }) => newBike(item, stations, now, newPublicId(ids))),
      );
      const created = new Set(fresh.filter(({ item }) => inserted.has(item.id)).map(({ index }) => index));
      for (const { index, item } of known) if (created.has(index)) results.done(index, item.id, "created");
      // The other items update bikes, including bikes that an earlier item or another command has just created.
      const others = known.filter(({ index }) => !created.has(index));
      await command.lockBikes(others.map(({ item }) => item.id));
      for (const { index, item } of others) {
        const bike = bikes.get(item.id);
        if (bike === undefined) {
          results.failed(index, item.id, "not_found", "deletedBike");
          continue;
        }
        const after = upsertedBike(bike, item, stations, now);
        results.done(index, item.id, after === bike ? "unchanged" : "updated");
        command.setBike(after);
      }
    },
  );
}

type ReportError = ItemError<"bikes", "report">;

/**
 * Records the reports of bikes. The bikes end up the same in whatever order and however often the reports arrive. Reports of
 * several calls share a batch, because calls with a single report are frequent.
 */
export function reportBikes(
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<BikeReport>[],
): Promise<BatchResults> {
  const steps = { lock: lockReported, decide: report };
  return runSharedBatch<BikeReport, ReportError, ReportedBikes>(context, systemId, items, steps);
}

/** The inputs of `report`: the locked bikes by id, and the stations that the items name. */
interface ReportedBikes {
  readonly bikes: ReadonlyMap<string, BikeState>;
  readonly stations: NamedStations;
}

async function lockReported(command: FleetCommand, entries: readonly Indexed<BikeReport>[]): Promise<ReportedBikes> {
  const [bikes, stations] = await Promise.all([
    command.lockBikes(entries.map(({ item }) => item.id)),
    locationsNamed(command, entries),
  ]);
  return { bikes, stations };
}

/** Decides on the reports in their order, and changes the bikes. */
async function report(
  command: FleetCommand,
  { bikes, stations }: ReportedBikes,
  { items, results }: Batch<BikeReport, ReportError>,
): Promise<void> {
  for (const entry of items) {
    const { index, item } = entry;
    const time = storedTime("at", item.at, command.now);
    const bike = bikes.get(item.id);
    if (isIssue(time)) results.failed(index, item.id, "invalid_parameter", ...time);
    else if (bike === undefined) results.failed(index, item.id, "not_found", "bike");
    else if (mayStand(entry, stations, bike, results)) {
      const after = reportedBike(bike, item, time.at, stations);
      results.done(index, item.id, after === bike ? "unchanged" : "updated", time.warning);
      command.setBike(after);
    }
  }
}

/** An item of either command. */
interface BikeItem extends LocatedItem {
  readonly id: string;
}

/** Finds the stations that items name as the location of their bikes. */
function locationsNamed({ tx, systemId }: FleetCommand, entries: readonly Indexed<BikeItem>[]): Promise<NamedStations> {
  return findNamedStations(
    tx,
    systemId,
    entries.flatMap(({ item }) => item.station_id ?? []),
  );
}

/**
 * Tells whether a bike may stand at the station that an item names. If not, records that the item failed. A bike of the
 * operator may not stand at a feed's station, because the feed alone counts the bikes there.
 * @param bike undefined: a new bike
 */
function mayStand(
  { index, item }: Indexed<BikeItem>,
  stations: NamedStations,
  bike: BikeState | undefined,
  results: BatchResultWriter<"not_found" | "invalid_parameter">,
): boolean {
  if (item.station_id === undefined || item.station_id === null) return true;
  const { station_id: id } = item;
  const station = presentStation(stations, id);
  if (station === undefined) results.failed(index, item.id, "not_found", ...missingStation(stations, id));
  else if (isOperators(bike) && isOfFeed(station))
    results.failed(index, item.id, "invalid_parameter", "bikeAtFeedStation", { id, source: station.source });
  else return true;
  return false;
}

/** Tells whether a bike is the operator's own, as a new one (undefined) is. */
function isOperators(bike: BikeState | undefined): boolean {
  return bike?.source === undefined || bike.source === OPERATOR;
}

/**
 * Tells whether an upsert may change a bike. Of a feed's bike it may change only the state, which the operator may know
 * better. If it may not, records that the item failed.
 */
function mayChange(
  { index, item }: Indexed<BikeUpsert>,
  bike: BikeState | undefined,
  results: BatchResultWriter<"invalid_parameter">,
): boolean {
  if (bike === undefined || isOperators(bike)) return true;
  const others = Object.entries(item).filter(([name]) => name !== "id" && name !== "vehicle_state");
  if (others.every(([, value]) => value === undefined)) return true;
  results.failed(index, item.id, "invalid_parameter", "feedBike", { id: bike.id, source: bike.source ?? "" });
  return false;
}

/** Returns the first entry of each bike. */
function firstOfEach(entries: readonly Indexed<BikeUpsert>[]): Indexed<BikeUpsert>[] {
  const first = new Map<string, Indexed<BikeUpsert>>();
  for (const entry of entries) if (!first.has(entry.item.id)) first.set(entry.item.id, entry);
  return [...first.values()];
}
