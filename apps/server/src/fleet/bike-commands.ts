import type { BatchItem, BatchResults, BikeReport, BikeUpsert, ItemError } from "@bikeshare/contract";
import type { CommandContext } from "../command-context.ts";
import type { AnsweredIndexes } from "../idempotency/service.ts";
import { type Batch, type BatchResultWriter, type Indexed, runBatch, runSharedBatch } from "./batch.ts";
import { type LocatedItem, newBike, reportedBike, type StationLocations, upsertedBike } from "./bike-changes.rules.ts";
import { type BikeState, newPublicId } from "./bike.rules.ts";
import type { FleetCommand } from "./command.ts";
import { isIssue, storedTime } from "./ride.rules.ts";
import { findStationLocations } from "./station-queries.ts";

/** Makes bikes, or changes what the operator says of them. */
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
      const bikes = await command.lockBikes(readable.map(({ item }) => item.id));
      const stations = await locationsNamed(command, readable);
      const known = readable.filter((entry) => hasKnownStation(entry, stations, results));
      const fresh = firstOfEach(known.filter(({ item }) => !bikes.has(item.id)));
      const inserted = await command.insertBikes(
        fresh.map(({ item }) => newBike(item, stations, now, newPublicId(ids))),
      );
      const created = new Set(fresh.filter(({ item }) => inserted.has(item.id)).map(({ index }) => index));
      for (const { index, item } of known) if (created.has(index)) results.done(index, item.id, "created");
      // What another command made meanwhile, and what an item before in this batch made, is changed like any other.
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

/** Records what bikes report of themselves: in whatever order reports come, and however often, the result is the same. */
export function reportBikes(
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<BikeReport>[],
  answered?: AnsweredIndexes,
): Promise<BatchResults> {
  const steps = { lock: lockReported, decide: report };
  return runSharedBatch<BikeReport, ReportError, ReportedBikes>(context, systemId, items, steps, answered);
}

interface ReportedBikes {
  readonly bikes: ReadonlyMap<string, BikeState>;
  readonly stations: StationLocations;
}

async function lockReported(command: FleetCommand, entries: readonly Indexed<BikeReport>[]): Promise<ReportedBikes> {
  const [bikes, stations] = await Promise.all([
    command.lockBikes(entries.map(({ item }) => item.id)),
    locationsNamed(command, entries),
  ]);
  return { bikes, stations };
}

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
    else if (hasKnownStation(entry, stations, results)) {
      const after = reportedBike(bike, item, time.at, stations);
      results.done(index, item.id, after === bike ? "unchanged" : "updated", time.warning);
      command.setBike(after);
    }
  }
}

interface BikeItem extends LocatedItem {
  readonly id: string;
}

function locationsNamed(
  { tx, systemId }: FleetCommand,
  entries: readonly Indexed<BikeItem>[],
): Promise<StationLocations> {
  return findStationLocations(
    tx,
    systemId,
    entries.flatMap(({ item }) => item.station_id ?? []),
  );
}

function hasKnownStation(
  { index, item }: Indexed<BikeItem>,
  stations: StationLocations,
  results: BatchResultWriter<"not_found">,
): boolean {
  if (item.station_id === undefined || item.station_id === null || stations.has(item.station_id)) return true;
  results.failed(index, item.id, "not_found", "namedStation", { id: item.station_id });
  return false;
}

function firstOfEach(entries: readonly Indexed<BikeUpsert>[]): Indexed<BikeUpsert>[] {
  const seen = new Set<string>();
  return entries.filter(({ item }) => !seen.has(item.id) && seen.add(item.id));
}
