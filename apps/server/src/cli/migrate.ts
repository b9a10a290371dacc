import type { Command } from "commander";
import type { CliContext } from "./context.ts";

/** `migrate`: every command migrates when it opens the database; this one does nothing else. */
export function registerMigrate(program: Command, context: () => CliContext): void {
  program
    .command("migrate")
    .description("bring the database's schema up to date; safe when several start at once")
    .action(async () => {
      await context().withDatabase(async (_db, applied) => {
        const text =
          applied.length === 0
            ? "The schema is up to date."
            : `Applied:\n${applied.map((name) => `  ${name}`).join("\n")}`;
        context().output.result({ applied }, text);
      });
    });
}
