import { existsSync } from "node:fs";
import { checked, failure } from "../health/checks/check.ts";
import { checkConfiguration } from "../health/doctor/configuration.rules.ts";
import { checkDatabase, type DoctorResult } from "../health/doctor/database-checks.ts";
import { checkMachine } from "../health/doctor/machine-checks.ts";
import { type CliContext, type OpenCli, type ParentCommand, run } from "./context.ts";
import { type Result, table } from "./output.ts";

const SET_DATA_DIR =
  "Set DATA_DIR or DATABASE_URL to the service's values. The first start of a service creates the directory.";

/** `doctor`: common problems, each with its fix. */
export function registerDoctor(program: ParentCommand, cli: OpenCli): void {
  program
    .command("doctor")
    .description(
      "check the configuration, this machine, the database and background work; exit status 1 when a check fails",
    )
    .action(() => run(cli(), examine));
}

async function examine(context: CliContext): Promise<Result> {
  const { config, clock } = context;
  const results: DoctorResult[] = [
    ...checkConfiguration(config),
    ...(await checkMachine(config, clock())),
    ...(await checked("database", "Correct DATABASE_URL or DATA_DIR.", async () => {
      // Opening would create an empty database, and the directory's name is most likely wrong.
      if (config.databaseUrl === undefined && !existsSync(config.dataDir))
        return failure("database", `DATA_DIR=${config.dataDir} does not exist`, SET_DATA_DIR);
      const server = await context.openDatabaseAsIs();
      try {
        return await checkDatabase({ ...server, config, clock });
      } finally {
        await server.close();
      }
    })),
  ];
  const failures = results.filter(({ status, acknowledged }) => status === "failure" && acknowledged === undefined);
  const marks = { ok: "ok", info: "ok", warning: "WARNING", failure: "FAILURE" } as const;
  const columns = {
    status: ({ status, acknowledged }: DoctorResult) => (acknowledged === undefined ? marks[status] : "acknowledged"),
    check: "check",
    detail: "detail",
  } as const;
  return {
    object: {
      ok: failures.length === 0,
      checks: results.map(({ check, status, detail, fix, acknowledged }) => ({
        ...{ check, status, detail, fix, acknowledged },
      })),
    },
    table: table(results, columns, "No checks."),
    notes: results.flatMap(({ check, fix }) => (fix === undefined ? [] : [`${check}: ${fix}`])),
    failure: failures.length === 0 ? undefined : `${failures.length} of ${results.length} checks failed.`,
  };
}
