import { type Bike, MAX_PAGE_SIZE, type Station, stationStatus, vehicleState } from "@bikeshare/contract";
import type { PageRequest } from "@bikeshare/rules";
import type { Command } from "commander";
import { listBikes } from "../bikes/service.ts";
import type { Page } from "../lists/page.ts";
import { type ListReader, type ReadContext, readContextOn } from "../lists/read-context.ts";
import { integer, oneOf } from "../startup/values.ts";
import { listStations } from "../stations/service.ts";
import { type CliContext, withSystem } from "./context.ts";
import { option } from "./options.ts";
import { type Columns, table } from "./output.ts";

/** More is an export, for which there is the API. */
const MAX_LIMIT = 10_000;
const limitOption = () => option("--limit <n>", `how many at most, 1 to ${MAX_LIMIT}`, integer(1, MAX_LIMIT), "50");

const stationColumns: Columns<Station> = {
  id: ({ id }) => id,
  name: ({ name }) => name,
  status: (station) => station.status + (station.offline_reason === null ? "" : ` (${station.offline_reason})`),
  region: ({ region_id }) => region_id,
  bikes: ({ num_bikes_available }) => num_bikes_available,
  reserved: ({ num_bikes_reserved }) => num_bikes_reserved,
  docks: ({ num_docks_available }) => num_docks_available,
  reported: ({ last_reported }) => last_reported,
};

const bikeColumns: Columns<Bike> = {
  id: ({ id }) => id,
  number: ({ number }) => number,
  type: ({ vehicle_type_id }) => vehicle_type_id,
  state: ({ vehicle_state }) => vehicle_state,
  station: ({ station_id }) => station_id,
  position: ({ lat, lon }) => (lat === null || lon === null ? null : `${lat}, ${lon}`),
  range: ({ current_range_meters }) => current_range_meters,
  reported: ({ last_reported }) => last_reported,
};

interface StationsOptions {
  readonly status?: Station["status"];
  readonly region?: string;
  readonly limit: number;
}

interface BikesOptions {
  readonly state?: Bike["vehicle_state"];
  readonly station?: string;
  readonly limit: number;
}

/** `stations list`: stations without a key. */
export function registerStations(program: Command, context: () => CliContext): void {
  program
    .command("stations")
    .description("the stations")
    .command("list")
    .description("list stations, by id")
    .addOption(
      option(
        "--status <status>",
        `only those with this status: ${stationStatus.options.join(", ")}`,
        oneOf(stationStatus.options),
      ),
    )
    .option("--region <id>", "only those of this region")
    .addOption(limitOption())
    .action(({ status, region, limit }: StationsOptions) => {
      const filters = { status, region_id: region };
      const read: ReadPage = (reads, whose, request) => listStations(reads, whose, filters, request);
      return showBeginning(context(), "stations", read, limit, stationColumns);
    });
}

/** `bikes list`: bikes without a key. */
export function registerBikes(program: Command, context: () => CliContext): void {
  program
    .command("bikes")
    .description("the bikes")
    .command("list")
    .description("list bikes, by id")
    .addOption(
      option(
        "--state <state>",
        `only those in this state: ${vehicleState.options.join(", ")}`,
        oneOf(vehicleState.options),
      ),
    )
    .option("--station <id>", "only those at this station")
    .addOption(limitOption())
    .action(({ state, station, limit }: BikesOptions) => {
      const filters = { vehicle_state: state, station_id: station };
      const read: ReadPage = (reads, whose, request) => listBikes(reads, whose, filters, request);
      return showBeginning(context(), "bikes", read, limit, bikeColumns);
    });
}

type ReadPage = (context: ReadContext, whose: ListReader, request: PageRequest<string>) => Promise<Page<string>>;

/** Shows the first items of a list, and says how many there are besides. */
async function showBeginning<Item>(
  cli: CliContext,
  name: string,
  read: ReadPage,
  limit: number,
  columns: Columns<Item>,
): Promise<void> {
  await withSystem(cli, async ({ db }, systemId) => {
    const reads = readContextOn(db);
    const { items, total } = await readBeginning<Item>(
      (request) => read(reads, { systemId, partnerId: "" }, request),
      limit,
    );
    const rest = items.length >= total ? [] : [`${items.length} of ${total}. --limit shows more, --json all fields.`];
    cli.output.result({ [name]: items, total }, [table(items, columns), ...rest].join("\n"));
  });
}

/** Reads a list from its beginning, page by page; `total` counts the whole list. */
async function readBeginning<Item>(
  read: (request: PageRequest<string>) => Promise<Page<string>>,
  limit: number,
): Promise<{ readonly items: readonly Item[]; readonly total: number }> {
  const items: Item[] = [];
  let total = 0;
  let next: string | undefined;
  do {
    const size = Math.min(limit - items.length, MAX_PAGE_SIZE);
    const page = await read(
      next === undefined ? { kind: "first", limit: size } : { kind: "cursor", after: next, limit: size },
    );
    // The database keeps the JSON; the tests hold it against the contract's schema.
    items.push(...(JSON.parse(`[${page.items}]`) as Item[]));
    total = page.total ?? total;
    next = page.next;
  } while (next !== undefined && items.length < limit);
  return { items, total };
}
