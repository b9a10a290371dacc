import { distribute, planDistribution } from "../storage/distribution/service.ts";
import { type CliContext, type OpenCli, type ParentCommand, run } from "./context.ts";
import type { Result } from "./output.ts";

/** `distribute`: from one PostgreSQL to several with Citus. */
export function registerDistribute(program: ParentCommand, cli: OpenCli): void {
  program
    .command("distribute")
    .description("distribute the database over several machines with Citus; stop the service first. Safe to repeat")
    .option("--dry-run", "show what it would do, and change nothing")
    .action(({ dryRun = false }) => run(cli(), (context) => distributeDatabase(context, dryRun)));
}

function distributeDatabase({ output, withDatabase }: CliContext, dryRun: boolean): Promise<Result> {
  return withDatabase(async (db) => {
    const done = dryRun
      ? await planDistribution(db)
      : await distribute(db, (step) => output.progress(`Distributing ${step} …`));
    const { extension, tables, systems } = done;
    const isUnchanged = !extension && tables.length === 0 && systems.length === 0;
    const object = { ...done, dry_run: dryRun };
    if (isUnchanged) return { object, text: "The database is distributed already." };
    const facts = { "extension created": extension, "tables distributed": tables, "systems with a shard": systems };
    return { object, facts, notes: [dryRun ? "Nothing was changed (--dry-run)." : "Start the service again."] };
  });
}
