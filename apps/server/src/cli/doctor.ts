import { existsSync } from "node:fs";
import { checked, failure, type Finding } from "../health/alerts/finding.ts";
import { checkConfiguration } from "../health/doctor/configuration.rules.ts";
import { checkDatabase } from "../health/doctor/database-checks.ts";
import { checkMachine } from "../health/doctor/machine-checks.ts";
import type { CliContext, OpenCli, ParentCommand } from "./context.ts";

const SET_DATA_DIR =
  "Set DATA_DIR or DATABASE_URL as the service has them; a service that never ran makes it at its first start.";

/** `doctor`: the usual mistakes, each with what mends it. */
export function registerDoctor(program: ParentCommand, cli: OpenCli): void {
  program
    .command("doctor")
    .description("check configuration, machine, database and work; exit status 1 when something does not work")
    .action(() => examine(cli()));
}

async function examine(context: CliContext): Promise<void> {
  const { config, clock, output } = context;
  const findings = [
    ...checkConfiguration(config),
    ...(await checkMachine(config, clock())),
    ...(await checked("database", "Correct DATABASE_URL or DATA_DIR.", async () => {
      // Opening it would make an empty one, where the directory's name is most likely wrong.
      if (config.databaseUrl === undefined && !existsSync(config.dataDir))
        return failure("database", `there is none: ${config.dataDir} does not exist`, SET_DATA_DIR);
      const server = await context.openDatabaseAsIs();
      try {
        return await checkDatabase({ ...server, config, clock });
      } finally {
        await server.close();
      }
    })),
  ];
  const failures = findings.filter(({ status }) => status === "failure");
  output.result({ ok: failures.length === 0, checks: findings }, findings.map(lineOf).join("\n"));
  if (failures.length > 0) throw new Error(`${failures.length} of ${findings.length} checks failed.`);
}

function lineOf({ check, status, detail, fix }: Finding): string {
  const mark = { ok: "ok      ", warning: "WARNING ", failure: "FAILURE " }[status];
  return fix === undefined ? `${mark}${check}: ${detail}` : `${mark}${check}: ${detail}\n        ${fix}`;
}
