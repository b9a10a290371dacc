import { type Bike, MAX_PAGE_SIZE, type Station, stationStatus, vehicleState } from "@bikeshare/contract";
import type { PageRequest } from "@bikeshare/rules";
import { listBikes } from "../city/bikes/service.ts";
import { endAbandonedRides, endRidesStartedBefore } from "../city/fleet/finish-rides.ts";
import { listStations } from "../city/stations/service.ts";
import { oneOf } from "../runtime/startup/values.ts";
import type { Page } from "../storage/lists/page.ts";
import { type ListReader, readContextOn } from "../storage/lists/read-context.ts";
import { type OpenCli, type ParentCommand, runOnSystem, type SystemContext } from "./context.ts";
import { registerFleetFacts } from "./descriptions.ts";
import { limitOption, option, pastInstant, readValue, UsageError } from "./options.ts";
import { type Columns, type Result, table } from "./output.ts";

/*
 * The commands `stations`, `bikes` and `rides`: they read lists, describe stations and bikes, and end rides whose end was
 * never reported.
 */

/** Maximum rows of a list. Too high: the rows fill memory. Use the API to read everything. */
const MAX_LIMIT = 10_000;

const stationColumns: Columns<Station> = {
  id: "id",
  name: "name",
  status: (station) => station.status + (station.offline_reason === null ? "" : ` (${station.offline_reason})`),
  region: "region_id",
  bikes: "num_bikes_available",
  reserved: "num_bikes_reserved",
  docks: "num_docks_available",
  reported: "last_reported",
};

const bikeColumns: Columns<Bike> = {
  id: "id",
  number: "number",
  type: "vehicle_type_id",
  state: "vehicle_state",
  station: "station_id",
  position: ({ lat, lon }) => (lat === null || lon === null ? null : `${lat}, ${lon}`),
  range: "current_range_meters",
  reported: "last_reported",
};

/** Registers `stations list`, which needs no key, and the commands that describe stations for GBFS. */
export function registerStations(program: ParentCommand, cli: OpenCli): void {
  const statuses = stationStatus.options;
  const stations = program.command("stations").description("look at stations, and describe them for GBFS");
  registerFleetFacts(stations, cli, "station");
  stations
    .command("list")
    .description("list stations by id")
    .addOption(option("--status <status>", `only stations with this status: ${statuses.join(", ")}`, oneOf(statuses)))
    .option("--region <id>", "only stations of this region")
    .addOption(limitOption(MAX_LIMIT, 50))
    .action(({ status, region, limit }) =>
      runOnSystem(cli(), async ({ db, systemId }) => {
        const reads = readContextOn(db);
        const filters = { status, region_id: region };
        const read: ReadPage = (request) => listStations(reads, readerOf(systemId), filters, request);
        const { items, total } = await readBeginning<Station>(read, limit);
        const shown = table(items, stationColumns, "No stations.");
        return { object: { stations: items, total }, table: shown, notes: restOf(items, total) };
      }),
    );
}

/** Registers `bikes list`, which needs no key, and the commands that describe bikes for GBFS. */
export function registerBikes(program: ParentCommand, cli: OpenCli): void {
  const states = vehicleState.options;
  const bikes = program.command("bikes").description("look at bikes, and describe them for GBFS");
  registerFleetFacts(bikes, cli, "bike");
  bikes
    .command("list")
    .description("list bikes by id")
    .addOption(option("--state <state>", `only bikes in this state: ${states.join(", ")}`, oneOf(states)))
    .option("--station <id>", "only bikes at this station")
    .addOption(limitOption(MAX_LIMIT, 50))
    .action(({ state, station, limit }) =>
      runOnSystem(cli(), async ({ db, systemId }) => {
        const reads = readContextOn(db);
        const filters = { vehicle_state: state, station_id: station };
        const read: ReadPage = (request) => listBikes(reads, readerOf(systemId), filters, request);
        const { items, total } = await readBeginning<Bike>(read, limit);
        const shown = table(items, bikeColumns, "No bikes.");
        return { object: { bikes: items, total }, table: shown, notes: restOf(items, total) };
      }),
    );
}

/** Returns the reader of a list. The command line reads all of a system, and is not a partner. */
const readerOf = (systemId: string): ListReader => ({ systemId, partnerId: "" });

type ReadPage = (request: PageRequest<string>) => Promise<Page<string>>;

/** Reads a list from its beginning, page by page; `total` counts the whole list. */
async function readBeginning<Item>(read: ReadPage, limit: number): Promise<{ items: Item[]; total: number }> {
  const items: Item[] = [];
  let total = 0;
  let next: string | undefined;
  do {
    const size = Math.min(limit - items.length, MAX_PAGE_SIZE);
    const page = await read(
      next === undefined ? { kind: "first", limit: size } : { kind: "cursor", after: next, limit: size },
    );
    // The database keeps the JSON; tests validate it by the contract's schema.
    items.push(...(JSON.parse(`[${page.items}]`) as Item[]));
    total = page.total ?? total;
    next = page.next;
  } while (next !== undefined && items.length < limit);
  return { items, total };
}

function restOf(items: readonly unknown[], total: number): string[] {
  return items.length >= total ? [] : [`${items.length} of ${total}. --limit shows more rows, --json all fields.`];
}

/** Registers `rides end`, which ends rides whose end was never reported. */
export function registerRides(program: ParentCommand, cli: OpenCli): void {
  program
    .command("rides")
    .description("manage rides whose end was never reported")
    .command("end")
    .description("end rides whose end was never reported; a bike without a report since then becomes missing")
    .argument("[id...]", "the rides")
    .option("--older-than <time>", "all rides that started before this time: RFC 3339, or a duration ago such as 24h")
    .option("--yes", "confirm --older-than: ended rides stay ended")
    .action((ids, { olderThan, yes = false }) => {
      const namesRides = ids.length > 0;
      const namesTime = olderThan !== undefined;
      if (namesRides === namesTime) throw new UsageError("Name either the rides or a time with --older-than.");
      return runOnSystem(cli(), async (context) => {
        const before =
          olderThan === undefined ? undefined : readValue("--older-than", olderThan, pastInstant(context.clock()));
        if (before !== undefined && !yes) {
          throw new UsageError(
            `This ends every ride that started before ${before.toISOString()}. Nothing was changed. Add --yes to do it.`,
          );
        }
        return endRides(context, ids, before);
      });
    });
}

async function endRides(context: SystemContext, ids: readonly string[], before: Date | undefined): Promise<Result> {
  const { results, failed } =
    before === undefined
      ? await endAbandonedRides(context, context.systemId, ids, "operator")
      : await endRidesStartedBefore(context, context.systemId, before);
  const columns = { ride: "id", result: ({ error }: (typeof results)[number]) => error?.message ?? "ended" } as const;
  return {
    object: { results, failed },
    table: table(results, columns, "No such ride is under way."),
    failure: failed === 0 ? undefined : `${failed} of ${results.length} rides could not be ended.`,
  };
}
