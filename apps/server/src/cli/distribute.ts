import { type Distribution, distribute, planDistribution } from "../storage/distribution/service.ts";
import type { CliContext, OpenCli, ParentCommand } from "./context.ts";

/** `distribute`: from one PostgreSQL to many. */
export function registerDistribute(program: ParentCommand, cli: OpenCli): void {
  program
    .command("distribute")
    .description("spread the database over machines with Citus; stop the service before. Can be run again at any time")
    .option("--dry-run", "say what would be done, and change nothing")
    .action(({ dryRun = false }) => run(cli(), dryRun));
}

async function run({ output, withDatabase }: CliContext, dryRun: boolean): Promise<void> {
  await withDatabase(async (db) => {
    const done = dryRun
      ? await planDistribution(db)
      : await distribute(db, (step) => output.progress(`Distributing ${step} …`));
    output.result({ ...done, dry_run: dryRun }, textOf(done, dryRun));
  });
}

function textOf({ extension, tables, systems }: Distribution, dryRun: boolean): string {
  if (!extension && tables.length === 0 && systems.length === 0)
    return "The database is distributed; nothing is to be done.";
  return [
    dryRun ? "This would be done:" : "Done; start the service again.",
    ...(extension ? ["  the extension citus created in the database"] : []),
    `  ${tables.length} tables distributed${listed(tables)}`,
    `  ${systems.length} systems with a shard of their own${listed(systems)}`,
  ].join("\n");
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? "" : `: ${names.join(", ")}`;
}
