import { listLongRides } from "../city/fleet/long-rides.ts";
import { checkInvariants } from "../health/check/service.ts";
import { type OpenCli, type ParentCommand, runOnSystem, type SystemContext } from "./context.ts";
import { type Columns, type Result, table } from "./output.ts";

/** `check`: the invariants of the stored data. */
export function registerCheck(program: ParentCommand, cli: OpenCli): void {
  program
    .command("check")
    .description("check the stored data for broken invariants; exit status 1 when one is broken")
    .action(() => runOnSystem(cli(), check));
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

async function check({ db, systemId, config, clock }: SystemContext): Promise<Result> {
  const invariants = await checkInvariants(db, systemId);
  const violated = invariants.filter(({ broken }) => broken > 0);
  const broken = violated.filter(({ severity }) => severity === "error");
  const longRides = await listLongRides(db, systemId, new Date(clock() - config.longRideAfterMs), MAX_LONG_RIDES);
  const long = longRides.map(({ id, bike_id: bike }) => `${id} of bike ${bike}`).join(", ");
  return {
    object: { system: systemId, ok: broken.length === 0, invariants, long_rides: longRides },
    table: table(invariants, columns, "No invariants."),
    notes: [
      ...violated.map(({ name, meaning }) => `${name} means: ${meaning}`),
      ...(longRides.length === 0
        ? []
        : [
            `Under way for longer than LONG_RIDE_AFTER: ${long}. \`rides end\` ends rides whose end was never reported.`,
          ]),
    ],
    failure:
      broken.length === 0
        ? undefined
        : `${broken.length} of ${invariants.length} invariants are broken in system ${systemId}.`,
  };
}
