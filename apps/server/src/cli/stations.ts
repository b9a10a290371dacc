import { type Station, stationStatus } from "@bikeshare/contract";
import type { Command } from "commander";
import { readContextOn } from "../lists/read-context.ts";
import { listStations } from "../stations/service.ts";
import type { CliContext } from "./context.ts";
import { beginningTable, limitOption, readBeginning, readLimit } from "./list-walk.ts";
import { readWord, systemOption } from "./options.ts";

interface StationsOptions {
  readonly status?: string;
  readonly region?: string;
  readonly limit: string;
}

/** `stations list`: a look at stations without a key. */
export function registerStations(program: Command, context: () => CliContext): void {
  program
    .command("stations")
    .description("the stations")
    .command("list")
    .description("look at stations, by id")
    .option("--status <status>", `only those in this state: ${stationStatus.options.join(", ")}`)
    .option("--region <id>", "only those of this region")
    .option(...limitOption)
    .action((options: StationsOptions, command: Command) => list(context(), options, command));
}

async function list(cli: CliContext, options: StationsOptions, command: Command): Promise<void> {
  const limit = readLimit(options.limit);
  const status = options.status === undefined ? undefined : readWord("--status", options.status, stationStatus.options);
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const filters = { status, region_id: options.region };
    const found = await readBeginning<Station>(
      (request) => listStations(readContextOn(db), { systemId, partnerId: "" }, filters, request),
      limit,
    );
    cli.output.result(
      { stations: found.items, total: found.total },
      beginningTable(found, {
        id: ({ id }) => id,
        name: ({ name }) => name,
        status: (station) => station.status + (station.offline_reason === null ? "" : ` (${station.offline_reason})`),
        region: ({ region_id }) => region_id,
        bikes: ({ num_bikes_available }) => num_bikes_available,
        reserved: ({ num_bikes_reserved }) => num_bikes_reserved,
        docks: ({ num_docks_available }) => num_docks_available,
        reported: ({ last_reported }) => last_reported,
      }),
    );
  });
}
