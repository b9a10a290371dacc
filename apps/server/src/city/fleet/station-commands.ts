import type {
  BatchItem,
  BatchResults,
  BatchWarning,
  ErrorArguments,
  ErrorCode,
  ItemError,
  StationCommand,
  StationOffline,
  StationUpsert,
} from "@bikeshare/contract";
import { stationChangeEvent, stationState } from "@bikeshare/rules";
import type { CommandContext } from "../../command-context.ts";
import { TransactionConflict } from "../../storage/db/errors.ts";
import { valueOf } from "../../storage/db/rows.ts";
import { endAlertsOfRemoved, endClosures, openClosures } from "../alerts/alert-changes.ts";
import { type Indexed, runBatch } from "./batch.ts";
import type { FleetCommand } from "./command.ts";
import {
  findNamedStations,
  insertStations,
  listBikesAt,
  type LockedStation,
  type StationFields,
  updateReportedDocks,
  updateStations,
  type WrittenStation,
} from "./station-queries.ts";
import { isOfFeed, OPERATOR } from "./station.rules.ts";

/*
 * The operator's commands on stations: create or change, take offline, bring back, remove. They write the stations, the
 * events of changes of their status, and the alerts about closed stations.
 */

/**
 * Creates the operator's own stations, or changes them. Takes over stations that no feed describes. Their counters follow
 * their bikes.
 */
export function upsertStations(
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<StationUpsert>[],
): Promise<BatchResults> {
  return runStationBatch<StationUpsert, ItemError<"stations", "upsert">>(
    context,
    systemId,
    items,
    (held, upsert, refuse) => {
      const item = withoutRepeatedDocks(held, upsert);
      if (held === undefined && (item.name === undefined || item.lat === undefined || item.lon === undefined)) {
        return refuse("invalid_parameter", "newStation");
      }
      if (held?.status === "removed") return refuse("invalid_parameter", "removedStation");
      const given = Object.fromEntries(Object.entries(item).filter(([, value]) => value !== undefined));
      // The next snapshot would overwrite a change of a feed's station.
      if (held !== undefined && isOfFeed(held)) {
        if (isSame(held, { ...held, ...given })) return held;
        return refuse("invalid_parameter", "feedStation", { id: held.id, source: held.source });
      }
      const described = { ...(held === undefined ? newStation(item) : operatorsStation(held)), ...given };
      const was_installed = described.was_installed || described.is_installed;
      return {
        ...described,
        was_installed,
        ...stationState(held, { ...described, was_installed, absent_snapshots: 0 }),
      };
    },
  );
}

/** Takes stations offline until they are brought back. An item with a summary also opens an alert for riders. */
export function takeStationsOffline(
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<StationOffline>[],
): Promise<BatchResults> {
  return runStationBatch<StationOffline, ItemError<"stations", "offline">>(
    context,
    systemId,
    items,
    (held, item, refuse) => {
      if (held === undefined) return refuse("not_found", "namedStation", { id: item.id });
      if (held.status === "removed") return refuse("not_found", "goneStation", { id: item.id });
      return { ...held, status: "offline", offline_reason: "operator" };
    },
    { alerts: openClosuresOf },
  );
}

/**
 * Brings stations back that were taken offline, and ends the alerts that were opened because of it. The stations' flags then
 * decide whether they are online.
 */
export function bringStationsOnline(
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<StationCommand>[],
): Promise<BatchResults> {
  return runStationBatch<StationCommand, ItemError<"stations", "online">>(
    context,
    systemId,
    items,
    (held, item, refuse) => {
      if (held === undefined) return refuse("not_found", "namedStation", { id: item.id });
      if (held.status === "removed") return refuse("not_found", "goneStation", { id: item.id });
      // Computed as for a new station, because otherwise a station that the operator took offline stays offline. A
      // stale station stays stale, because only its feed tells whether it reports.
      const is_silent = held.offline_reason === "stale";
      return { ...held, ...stationState(undefined, { ...held, absent_snapshots: 0, is_silent }) };
    },
    { alerts: (command, stations) => endClosures(command, idsOf(stations)) },
  );
}

/** Removes stations for good. Their rides stay; bikes that stand there are outside a station from then on. */
export function removeStations(
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<StationCommand>[],
): Promise<BatchResults> {
  return runStationBatch<StationCommand, ItemError<"stations", "remove">>(
    context,
    systemId,
    items,
    (held, item, refuse) => {
      if (held === undefined) return refuse("not_found", "namedStation", { id: item.id });
      return { ...held, status: "removed", offline_reason: null };
    },
    {
      before: moveBikesOut,
      after: checkBikesLeft,
      alerts: (command, stations) => endAlertsOfRemoved(command, idsOf(stations)),
    },
  );
}

/** Opens alerts for the items that have a summary. @returns the stations whose alerts were opened or changed */
function openClosuresOf(command: FleetCommand, items: readonly StationOffline[]): Promise<ReadonlySet<string>> {
  const closures = items.flatMap(({ id, summary }) => (summary === undefined ? [] : [{ stationId: id, summary }]));
  return openClosures(command, closures);
}

function idsOf(items: readonly { readonly id: string }[]): string[] {
  return items.map(({ id }) => id);
}

/**
 * Takes the bikes out of stations. A bike without a position gets that of its station; the others keep theirs.
 * @returns a warning about the bikes, by station id
 */
async function moveBikesOut(command: FleetCommand, ids: readonly string[]): Promise<ReadonlyMap<string, BatchWarning>> {
  const { tx, systemId } = command;
  const [standing, stations] = await Promise.all([
    listBikesAt(tx, systemId, ids),
    findNamedStations(tx, systemId, ids),
  ]);
  const bikes = await command.lockBikes(standing);
  const bikesAt = new Map<string, string[]>();
  for (const bike of bikes.values()) {
    const station = stations.get(bike.reported_station_id ?? "");
    if (station === undefined) continue;
    bikesAt.set(station.id, [...(bikesAt.get(station.id) ?? []), bike.id]);
    command.changeBike(bike, {
      reported_station_id: null,
      reported_lat: bike.reported_lat ?? station.lat,
      reported_lon: bike.reported_lon ?? station.lon,
    });
  }
  await command.writeBikes();
  return new Map(
    [...bikesAt].map(([id, names]) => [id, ["bikesLeft", { count: names.length, bikes: shortList(names) }] as const]),
  );
}

/**
 * Checks that `moveBikesOut` missed no bike.
 * @throws TransactionConflict when a bike came to one of the stations before they were locked
 */
async function checkBikesLeft({ tx, systemId }: FleetCommand, ids: readonly string[]): Promise<void> {
  if ((await listBikesAt(tx, systemId, ids)).length > 0) throw new TransactionConflict();
}

/** Maximum number of bike ids that a warning shows. */
const MAX_SHOWN = 20;

function shortList(ids: readonly string[]): string {
  return ids.slice(0, MAX_SHOWN).join(", ") + (ids.length > MAX_SHOWN ? ", …" : "");
}

/** A station after a decision. `is_claimed`: the operator takes it over from a source. */
type DecidedStation = LockedStation & { readonly is_claimed?: boolean };

/** The steps of a batch before and after it locks its stations. */
interface StationBatchSteps<Item> {
  /** Runs before the stations are locked. @returns the warning about each station's item, by station id */
  readonly before?: (command: FleetCommand, ids: readonly string[]) => Promise<ReadonlyMap<string, BatchWarning>>;
  /** Runs when the stations are locked. @param ids those that exist */
  readonly after?: (command: FleetCommand, ids: readonly string[]) => Promise<void>;
  /** Changes alerts, for the items whose stations exist and are not removed. @returns stations whose alerts changed */
  readonly alerts?: (command: FleetCommand, items: readonly Item[]) => Promise<ReadonlySet<string>>;
}

/** Records that an item failed. */
type Refuse<Declared extends ErrorCode> = (...error: ErrorArguments<Declared>) => undefined;

/**
 * Runs a batch on stations in one transaction, with `steps` around the locks.
 * @param decide returns the station after an item, or refuses the item. `held` is the station as earlier items leave it
 */
function runStationBatch<Item extends { readonly id: string }, Declared extends ErrorCode>(
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<Item>[],
  decide: (held: LockedStation | undefined, item: Item, refuse: Refuse<Declared>) => DecidedStation | undefined,
  steps: StationBatchSteps<Item> = {},
): Promise<BatchResults> {
  return runBatch<Item, Declared>(context, systemId, items, async (command, { items: readable, results }) => {
    const { tx, now } = command;
    const ids = readable.map(({ item }) => item.id);
    const warnings = await steps.before?.(command, ids);
    const held = await command.lockStations(ids);
    // Only existing stations: a feed's bike may name a station that does not exist, and cannot be moved out of it.
    const existing = ids.filter((id) => held.has(id));
    await steps.after?.(command, existing);
    const usable = readable.map(({ item }) => item).filter(({ id }) => isUsable(held.get(id)));
    const alerted = new Set(await steps.alerts?.(command, usable));
    // The stations as the items decided so far leave them.
    const decided = new Map<string, DecidedStation>(held);
    for (const { index, item } of readable) {
      const before = decided.get(item.id);
      const after = decide(before, item, (...error) => results.failed(index, item.id, ...error));
      if (after === undefined) continue;
      decided.set(item.id, after);
      if (before === undefined) results.done(index, item.id, "created");
      else {
        // When several items name one station, the first of them counts as the one that changed its alert.
        const hasChangedAlert = alerted.delete(item.id);
        const isUnchanged = isSame(before, after) && !hasChangedAlert;
        results.done(index, item.id, isUnchanged ? "unchanged" : "updated", warnings?.get(item.id));
      }
    }
    const stations = [...decided.values()];
    const made = stations.filter((station) => !held.has(station.id));
    // Existing stations get their reported docks before they are updated, new ones after they are inserted.
    await updateReportedDocks(tx, systemId, reportedDocks(held.keys(), decided, readable));
    const inserted = await insertStations(tx, systemId, now, made);
    // Another command has created one of these stations meanwhile: repeat the transaction, to decide on the new row.
    if (inserted.size < made.length) throw new TransactionConflict();
    await updateReportedDocks(tx, systemId, reportedDocks(inserted.keys(), decided, readable));
    // Feeds name stations before they describe them: bikes of a new station may already exist.
    command.recountStations(inserted.keys());
    command.recountStations(stations.filter((station) => station.is_claimed === true).map(({ id }) => id));
    command.count("stations", inserted.size);
    const changed = stations.filter((station) => isChanged(held.get(station.id), station));
    const updated = await updateStations(tx, systemId, now, changed);
    for (const { id, status } of changed)
      recordStatusChange(command, valueOf(held, id).status, status, valueOf(updated, id));
    if (made.length + changed.length > 0) command.notify("stations");
  });
}

/** Tells whether a station exists and is not removed. */
function isUsable(station: LockedStation | undefined): boolean {
  return station !== undefined && station.status !== "removed";
}

/** Records the event of a status change, if it has one, with the `updated_at` of the station's row as its time. */
function recordStatusChange(
  command: FleetCommand,
  from: LockedStation["status"],
  to: LockedStation["status"],
  { json: data, updated_at: occurredAt }: WrittenStation,
): void {
  const name = stationChangeEvent(from, to);
  if (name !== undefined) command.record({ name, occurredAt, partnerId: null, data });
}

/**
 * Returns the free docks that items report of the stations with `ids`, by station id; the last item counts. Leaves out
 * removed stations, and those that a feed describes.
 */
function reportedDocks(
  ids: Iterable<string>,
  decided: ReadonlyMap<string, DecidedStation>,
  items: readonly Indexed<{ readonly id: string; readonly num_docks_available?: number | null | undefined }>[],
): ReadonlyMap<string, number | null> {
  const of = new Set(ids);
  const reports = new Map<string, number | null>();
  for (const { item } of items) {
    const { id, num_docks_available: docks } = item;
    const station = decided.get(id);
    if (docks === undefined || !of.has(id) || station === undefined || station.status === "removed") continue;
    if (!isOfFeed(station)) reports.set(id, docks);
  }
  return reports;
}

/** Drops `num_docks_available: null` when no docks were reported before: the shown number already follows the capacity. */
function withoutRepeatedDocks(held: LockedStation | undefined, item: StationUpsert): StationUpsert {
  if (held === undefined || held.docks_base !== null || item.num_docks_available !== null) return item;
  return { ...item, num_docks_available: undefined };
}

/** Tells whether a station must be updated. A new one (`held` undefined) was inserted as it is. */
function isChanged(held: StationFields | undefined, station: StationFields): boolean {
  return held !== undefined && !isSame(held, station);
}

function isSame(a: StationFields, b: StationFields): boolean {
  return (Object.keys(b) as (keyof StationFields)[]).every((field) => a[field] === b[field]);
}

/** Returns a station as the operator takes it over from a source that no longer describes it, or never did. */
function operatorsStation(held: LockedStation): DecidedStation {
  if (held.source === OPERATOR) return held;
  return { ...held, source: OPERATOR, is_claimed: true, is_installed: true, is_renting: true, is_returning: true };
}

/**
 * Returns the operator's new station with the defaults of optional fields. The caller overwrites them by the item's,
 * and has checked that the item has a name and a position.
 */
function newStation(item: StationUpsert): LockedStation {
  return {
    source: OPERATOR,
    docks_base: null,
    id: item.id,
    name: item.name ?? "",
    short_name: null,
    lat: item.lat ?? 0,
    lon: item.lon ?? 0,
    address: null,
    region_id: null,
    capacity: null,
    is_virtual_station: false,
    is_installed: true,
    is_renting: true,
    is_returning: true,
    num_docks_available: null,
    num_docks_disabled: null,
    status: "planned",
    offline_reason: null,
    was_installed: false,
  };
}
