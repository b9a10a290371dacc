import type { Command } from "commander";
import { createPartner, partnersOf } from "../partners/service.ts";
import type { CliContext } from "./context.ts";
import { systemOption } from "./options.ts";
import { table } from "./table.ts";
import { UsageError } from "./usage-error.ts";

/** `partners create` and `partners list`. */
export function registerPartners(program: Command, context: () => CliContext): void {
  const partners = program.command("partners").description("the companies that read our data");
  partners
    .command("create")
    .description("add a partner")
    .argument("<name>", "the company's name")
    .action(async (name: string, _options: unknown, command: Command) => {
      if (name.trim() === "") throw new UsageError("The name must not be empty.");
      const { actor, clock, ids, output, withDatabase, resolveSystem } = context();
      await withDatabase(async (db) => {
        const systemId = await resolveSystem(db, systemOption(command));
        const partner = await createPartner({ db, clock, ids, actor }, systemId, name.trim());
        output.result({ id: partner.id, name: partner.name }, `Made partner ${partner.id} (${partner.name}).`);
      });
    });
  partners
    .command("list")
    .description("list the partners")
    .action(async (_options: unknown, command: Command) => {
      const { output, withDatabase, resolveSystem } = context();
      await withDatabase(async (db) => {
        const rows = await partnersOf({ db }, await resolveSystem(db, systemOption(command)));
        output.result(
          { partners: rows },
          table(
            ["id", "name", "created"],
            rows.map((row) => [row.id, row.name, row.created_at.toISOString()]),
          ),
        );
      });
    });
}
