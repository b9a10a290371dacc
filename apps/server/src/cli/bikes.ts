import { type Bike, vehicleState } from "@bikeshare/contract";
import type { Command } from "commander";
import { listBikes } from "../bikes/service.ts";
import { readContextOn } from "../lists/read-context.ts";
import type { CliContext } from "./context.ts";
import { beginningTable, limitOption, readBeginning, readLimit } from "./list-walk.ts";
import { readWord, systemOption } from "./options.ts";

interface BikesOptions {
  readonly state?: string;
  readonly station?: string;
  readonly limit: string;
}

/** `bikes list`: a look at bikes without a key. */
export function registerBikes(program: Command, context: () => CliContext): void {
  program
    .command("bikes")
    .description("the bikes")
    .command("list")
    .description("look at bikes, by id")
    .option("--state <state>", `only those in this state: ${vehicleState.options.join(", ")}`)
    .option("--station <id>", "only those at this station")
    .option(...limitOption)
    .action((options: BikesOptions, command: Command) => list(context(), options, command));
}

async function list(cli: CliContext, options: BikesOptions, command: Command): Promise<void> {
  const limit = readLimit(options.limit);
  const state = options.state === undefined ? undefined : readWord("--state", options.state, vehicleState.options);
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const filters = { vehicle_state: state, station_id: options.station };
    const found = await readBeginning<Bike>(
      (request) => listBikes(readContextOn(db), { systemId, partnerId: "" }, filters, request),
      limit,
    );
    cli.output.result(
      { bikes: found.items, total: found.total },
      beginningTable(found, {
        id: ({ id }) => id,
        number: ({ number }) => number,
        type: ({ vehicle_type_id }) => vehicle_type_id,
        state: ({ vehicle_state }) => vehicle_state,
        station: ({ station_id }) => station_id,
        position: ({ lat, lon }) => (lat === null || lon === null ? null : `${lat}, ${lon}`),
        range: ({ current_range_meters }) => current_range_meters,
        reported: ({ last_reported }) => last_reported,
      }),
    );
  });
}
