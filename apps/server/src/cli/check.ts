import { listLongRides } from "../city/fleet/finish-rides.ts";
import { systemsOf } from "../city/systems/service.ts";
import { checkInvariants } from "../health/check/service.ts";
import { type DeploymentContext, type OpenCli, type ParentCommand, runOnDeployment } from "./context.ts";
import { type Columns, type Result, table } from "./output.ts";

/** `check`: the invariants of the stored data. */
export function registerCheck(program: ParentCommand, cli: OpenCli): void {
  program
    .command("check")
    .description("check the stored data for broken invariants; exit status 1 when one is broken")
    .action(() => runOnDeployment(cli(), check));
}

/** Long rides that are listed. */
const MAX_LONG_RIDES = 20;

type Invariant = Awaited<ReturnType<typeof checkInvariants>>[number];

const marks = { error: "BROKEN", warning: "WARNING" } as const;

const columns: Columns<Invariant> = {
  status: ({ broken, severity }) => (broken === 0 ? "ok" : marks[severity]),
  invariant: "name",
  violations: "broken",
  examples: "examples",
};

/** A system's invariants, and what is to be said of them. */
interface Report {
  readonly object: {
    readonly system: string;
    readonly ok: boolean;
    readonly invariants: readonly Invariant[];
    readonly long_rides: Awaited<ReturnType<typeof listLongRides>>;
  };
  readonly notes: readonly string[];
}

/** Checks the system that `--system` names, otherwise all. */
async function check(context: DeploymentContext): Promise<Result> {
  const { db, system: named } = context;
  const all = named === undefined ? (await systemsOf(db)).map((system) => system.system_id) : [];
  const systems = all.length > 1 ? all : [await context.resolveSystem(db, named)];
  const reports: Report[] = [];
  for (const systemId of systems) reports.push(await checkSystem(context, systemId, all.length > 1));
  const checked = reports.map(({ object }) => object);
  const [first] = checked;
  const rows = checked.flatMap(({ system, invariants }) => invariants.map((invariant) => ({ system, ...invariant })));
  const broken = rows.filter(isBroken);
  const where = [...new Set(broken.map(({ system }) => system))].join(", ");
  return {
    object: checked.length === 1 && first !== undefined ? first : { ok: broken.length === 0, systems: checked },
    table: table(rows, checked.length === 1 ? columns : { system: "system", ...columns }, "No invariants."),
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
