import type { Command } from "commander";
import { addSystem, systemsOf } from "../systems/service.ts";
import type { CliContext } from "./context.ts";
import { registerSystemFacts } from "./systems-facts.ts";
import { UsageError } from "./usage-error.ts";

/** `systems create`, `set` and `list`. */
export function registerSystems(program: Command, context: () => CliContext): void {
  const systems = program.command("systems").description("the bike-share systems of this deployment");
  systems
    .command("create")
    .description("add another system")
    .argument("<id>", "the system's id (GBFS system_id): visible ASCII characters")
    .option("--name <name>", "what people call it")
    .action(async (id: string, options: { name?: string }) => {
      if (!/^[\x21-\x7e]{1,255}$/.test(id)) throw new UsageError("The id must be 1 to 255 visible ASCII characters.");
      const { actor, clock, config, ids, output, withDatabase, resolveSystem } = context();
      await withDatabase(async (db) => {
        // The first system exists before the second: otherwise commands that name none would change their meaning.
        if ((await systemsOf(db)).length === 0 && id !== config.systemId) await resolveSystem(db, undefined);
        if (!(await addSystem({ db, clock, ids, actor }, id, options.name ?? id)))
          throw new Error(`There is a system "${id}" already.`);
        output.result({ id }, `Made system ${id}.`);
      });
    });
  registerSystemFacts(systems, context);
}
