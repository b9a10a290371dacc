import type {
  BatchItem,
  BatchResults,
  ErrorArguments,
  ErrorCode,
  ItemError,
  StationCommand,
  StationUpsert,
} from "@bikeshare/contract";
import { stationChangeEvent, stationState } from "@bikeshare/rules";
import type { CommandContext } from "../command-context.ts";
import { TransactionConflict } from "../db/errors.ts";
import { valueOf } from "../db/rows.ts";
import { runBatch } from "./batch.ts";
import { insertStations, type StationFields, updateStations } from "./station-queries.ts";

/** Makes stations of the operator's own, or changes what it says of them. Their counters follow from their bikes. */
export function upsertStations(
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<StationUpsert>[],
): Promise<BatchResults> {
  return runStationBatch<StationUpsert, ItemError<"stations", "upsert">>(
    context,
    systemId,
    items,
    (held, item, refuse) => {
      if (held === undefined && (item.name === undefined || item.lat === undefined || item.lon === undefined)) {
        return refuse("invalid_parameter", "newStation");
      }
      if (held?.status === "removed") return refuse("invalid_parameter", "removedStation");
      const given = Object.fromEntries(Object.entries(item).filter(([, value]) => value !== undefined));
      const described: StationFields = { ...(held ?? newStation(item)), ...given };
      const was_installed = described.was_installed || described.is_installed;
      return {
        ...described,
        was_installed,
        ...stationState(held, { ...described, was_installed, absent_snapshots: 0 }),
      };
    },
  );
}

/** Takes stations offline until they are brought back. */
export function takeStationsOffline(
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<StationCommand>[],
): Promise<BatchResults> {
  return runStationBatch<StationCommand, ItemError<"stations", "offline">>(
    context,
    systemId,
    items,
    (held, item, refuse) => {
      if (held === undefined || held.status === "removed") return refuse("not_found", "namedStation", { id: item.id });
      return { ...held, status: "offline", offline_reason: "operator" };
    },
  );
}

/** Brings stations back that were taken offline: they are online if their flags say that they work. */
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
      if (held === undefined || held.status === "removed") return refuse("not_found", "namedStation", { id: item.id });
      return { ...held, ...stationState(undefined, { ...held, absent_snapshots: 0 }) };
    },
  );
}

/** Removes stations for good. Their rides stay. */
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
  );
}

type Refuse<Declared extends ErrorCode> = (...error: ErrorArguments<Declared>) => undefined;

function runStationBatch<Item extends { readonly id: string }, Declared extends ErrorCode>(
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<Item>[],
  decide: (held: StationFields | undefined, item: Item, refuse: Refuse<Declared>) => StationFields | undefined,
): Promise<BatchResults> {
  return runBatch<Item, Declared>(context, systemId, items, async (command, { items: readable, results }) => {
    const { tx, now } = command;
    const held = await command.lockStations(readable.map(({ item }) => item.id));
    const left = new Map(held);
    for (const { index, item } of readable) {
      const before = left.get(item.id);
      const after = decide(before, item, (...error) => results.failed(index, item.id, ...error));
      if (after === undefined) continue;
      left.set(item.id, after);
      if (before === undefined) results.done(index, item.id, "created");
      else results.done(index, item.id, isSame(before, after) ? "unchanged" : "updated");
    }
    const stations = [...left.values()];
    const made = stations.filter((station) => !held.has(station.id));
    const inserted = await insertStations(tx, systemId, now, made);
    // Another command made one of them meanwhile: decide again, on what it made.
    if (inserted.size < made.length) throw new TransactionConflict();
    // Feeds name stations that nobody has described yet: their bikes may exist before them.
    command.recountStations(inserted.keys());
    command.count("stations", inserted.size);
    const changed = stations.filter((station) => isChanged(held.get(station.id), station));
    const updated = await updateStations(tx, systemId, now, changed);
    for (const { id, status } of changed) {
      const name = stationChangeEvent(held.get(id)?.status ?? status, status);
      if (name !== undefined) command.record({ name, occurredAt: now, partnerId: null, data: valueOf(updated, id) });
    }
    if (made.length + changed.length > 0) command.notify("stations");
  });
}

function isChanged(held: StationFields | undefined, station: StationFields): boolean {
  return held !== undefined && !isSame(held, station);
}

function isSame(a: StationFields, b: StationFields): boolean {
  return (Object.keys(b) as (keyof StationFields)[]).every((field) => a[field] === b[field]);
}

function newStation(item: StationUpsert): StationFields {
  return {
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
