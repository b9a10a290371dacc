import type { Command } from "commander";
import { nameRegion, regionsOf, removeRegion } from "../regions/service.ts";
import type { CliContext } from "./context.ts";
import { beginningTable } from "./list-walk.ts";
import { readGivenId, readLine, systemOption } from "./options.ts";

/** `regions set`, `list` and `remove`. */
export function registerRegions(program: Command, context: () => CliContext): void {
  const regions = program.command("regions").description("what the ids of regions mean");
  regions
    .command("set")
    .description("say what a region is called; it goes before what a feed says")
    .argument("<id>", "the region's id, as stations name it")
    .requiredOption("--name <name>", "what people call it")
    .action(async (id: string, options: { name: string }, command: Command) => {
      const cli = context();
      const region = { id: readGivenId(id), name: readLine("--name", options.name) };
      await cli.withDatabase(async (db) => {
        await nameRegion({ ...cli, db }, await cli.resolveSystem(db, systemOption(command)), region);
        cli.output.result(region, `Region ${region.id} is called ${region.name}.`);
      });
    });
  regions
    .command("list")
    .description("list every region that is named, or that a station is in")
    .action(async (_options: unknown, command: Command) => {
      const { output, resolveSystem, withDatabase } = context();
      await withDatabase(async (db) => {
        const items = await regionsOf(db, await resolveSystem(db, systemOption(command)));
        const columns = {
          id: (item: (typeof items)[number]) => item.id,
          name: (item: (typeof items)[number]) => item.name,
        };
        output.result({ regions: items }, beginningTable({ items, total: items.length }, columns));
      });
    });
  regions
    .command("remove")
    .description("take back what a region is called")
    .argument("<id>", "the region's id")
    .action(async (id: string, _options: unknown, command: Command) => {
      const cli = context();
      await cli.withDatabase(async (db) => {
        await removeRegion({ ...cli, db }, await cli.resolveSystem(db, systemOption(command)), id);
        cli.output.result({ id }, `Took back what the region ${id} is called.`);
      });
    });
}
