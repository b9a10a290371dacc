import { existsSync } from "node:fs";
import { listLongRides } from "../city/fleet/finish-rides.ts";
import { systemsOf } from "../city/systems/service.ts";
import { checkInvariants } from "../health/check/service.ts";
import { checked, failure } from "../health/checks/check.ts";
import { checkDatabase, checkMachine, type DoctorResult } from "../health/doctor/checks.ts";
import { checkConfiguration } from "../health/doctor/doctor.rules.ts";
import {
  type CliContext,
  type DeploymentContext,
  type OpenCli,
  type ParentCommand,
  run,
  runOnDeployment,
} from "./context.ts";
import { type Columns, type Result, table } from "./output.ts";

/*
 * The commands `check` and `doctor`. `check` looks for stored rows that contradict each other; `doctor` looks for problems
 * of the deployment, such as its configuration and its disk. With a `failure`, the exit status is 1.
 */

/** Registers `check`, which checks the invariants of the stored data. */
export function registerCheck(program: ParentCommand, cli: OpenCli): void {
  program
    .command("check")
    .description("check the stored data for broken invariants; exit status 1 when one is broken")
    .action(() => runOnDeployment(cli(), checkSystems));
}

/** Maximum long rides that are listed. */
const MAX_LONG_RIDES = 20;

type Invariant = Awaited<ReturnType<typeof checkInvariants>>[number];

const severityMarks = { error: "BROKEN", warning: "WARNING" } as const;

const invariantColumns: Columns<Invariant> = {
  status: ({ broken, severity }) => (broken === 0 ? "ok" : severityMarks[severity]),
  invariant: "name",
  violations: "broken",
  examples: "examples",
};

/** The result for one system: its invariants, and notes about violated ones and about long rides. */
interface Report {
  readonly object: {
    readonly system: string;
    readonly ok: boolean;
    readonly invariants: readonly Invariant[];
    readonly long_rides: Awaited<ReturnType<typeof listLongRides>>;
  };
  readonly notes: readonly string[];
}

/** Checks the system that `--system` names, otherwise all of the operator's. The first one is created if there is none. */
async function checkSystems(context: DeploymentContext): Promise<Result> {
  const { db, system: named } = context;
  const all = named === undefined ? (await systemsOf(db)).map((system) => system.system_id) : [];
  const areMany = all.length > 1;
  const systems = areMany ? all : [await context.resolveSystem(db, named)];
  const reports: Report[] = [];
  for (const systemId of systems) reports.push(await checkSystem(context, systemId, areMany));
  const objects = reports.map(({ object }) => object);
  const [only] = areMany ? [] : objects;
  const rows = objects.flatMap(({ system, invariants }) => invariants.map((invariant) => ({ system, ...invariant })));
  const broken = rows.filter(isBroken);
  const where = [...new Set(broken.map(({ system }) => system))].join(", ");
  return {
    object: only ?? { ok: broken.length === 0, systems: objects },
    table: table(rows, areMany ? { system: "system", ...invariantColumns } : invariantColumns, "No invariants."),
    notes: reports.flatMap(({ notes }) => notes),
    failure:
      broken.length === 0
        ? undefined
        : `${broken.length} of ${rows.length} invariants are broken in ${systems.length === 1 ? "system" : "systems"} ${where}.`,
  };
}

function isBroken({ broken, severity }: Invariant): boolean {
  return broken > 0 && severity === "error";
}

async function checkSystem(
  { db, config, clock }: DeploymentContext,
  systemId: string,
  isOneOfMany: boolean,
): Promise<Report> {
  const invariants = await checkInvariants(db, systemId);
  const violated = invariants.filter(({ broken }) => broken > 0);
  const longRides = await listLongRides(db, systemId, new Date(clock() - config.longRideAfterMs), MAX_LONG_RIDES);
  const long = longRides.map(({ id, bike_id: bike }) => `${id} of bike ${bike}`).join(", ");
  const end = isOneOfMany ? `--system ${systemId} rides end` : "rides end";
  const meaning = (name: string) => (isOneOfMany ? `${systemId}: ${name} means` : `${name} means`);
  return {
    object: { system: systemId, ok: !invariants.some(isBroken), invariants, long_rides: longRides },
    notes: [
      ...violated.map((invariant) => `${meaning(invariant.name)}: ${invariant.meaning}`),
      ...(longRides.length === 0
        ? []
        : [`Under way for longer than LONG_RIDE_AFTER: ${long}. \`${end}\` ends rides whose end was never reported.`]),
    ],
  };
}

const SET_DATA_DIR =
  "Set DATA_DIR or DATABASE_URL to the service's values. The first start of a service creates the directory.";

/** Registers `doctor`, which finds common problems and says how to fix each. */
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
  let machine: readonly DoctorResult[] = await checkMachine(config, clock());
  const database = await checked("database", "Correct DATABASE_URL or DATA_DIR.", async () => {
    // Does not open the database: that would create an empty one, and the directory's name is most likely wrong.
    if (config.databaseUrl === undefined && !existsSync(config.dataDir))
      return failure("database", `DATA_DIR=${config.dataDir} does not exist`, SET_DATA_DIR);
    const server = await context.openDatabaseAsIs();
    try {
      const found = await checkDatabase({ ...server, config, clock, machine });
      // The same results, marked as acknowledged where the database says so.
      machine = found.machine;
      return found.database;
    } finally {
      await server.close();
    }
  });
  const results: DoctorResult[] = [...checkConfiguration(config), ...machine, ...database];
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
      checks: results.map(({ check, status, detail, fix, acknowledged }) => {
        return { check, status, detail, fix, acknowledged };
      }),
    },
    table: table(results, columns, "No checks."),
    notes: results.flatMap(({ check, fix }) => (fix === undefined ? [] : [`${check}: ${fix}`])),
    failure: failures.length === 0 ? undefined : `${failures.length} of ${results.length} checks failed.`,
  };
}
