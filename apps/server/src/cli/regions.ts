import { nameRegion, regionsOf, removeRegion } from "../city/systems/regions.ts";
import { type OpenCli, type ParentCommand, runOnSystem } from "./context.ts";
import { lineOfText, readGivenId, readValue } from "./options.ts";
import { table } from "./output.ts";

/** `regions set`, `list` and `remove`. */
export function registerRegions(program: ParentCommand, cli: OpenCli): void {
  const regions = program.command("regions").description("manage the names of regions");
  regions
    .command("set")
    .description("name a region; the name takes precedence over imported feeds")
    .argument("<id>", "the region's id, as stations refer to it")
    .requiredOption("--name <name>", "the name that riders see")
    .action((id, { name }) => {
      const region = { id: readGivenId(id), name: readValue("--name", name, lineOfText) };
      return runOnSystem(cli(), async (context) => {
        await nameRegion(context, context.systemId, region);
        return { object: region };
      });
    });
  regions
    .command("list")
    .description("list every region that has a name or a station")
    .action(() =>
      runOnSystem(cli(), async ({ db, systemId }) => {
        const listed = await regionsOf(db, systemId);
        return { object: { regions: listed }, table: table(listed, { id: "id", name: "name" }, "No regions.") };
      }),
    );
  regions
    .command("remove")
    .description("remove the name of a region")
    .argument("<id>", "the region's id")
    .action((id) =>
      runOnSystem(cli(), async (context) => {
        await removeRegion(context, context.systemId, id);
        return { object: { id }, text: `Removed the name of region ${id}.` };
      }),
    );
}
