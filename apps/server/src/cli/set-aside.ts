import { releaseUnits, setAsideUnits } from "../storage/set-aside/service.ts";
import { type OpenCli, type ParentCommand, runOnSystem, type SystemContext } from "./context.ts";
import { UsageError } from "./options.ts";
import { type Result, table } from "./output.ts";

/** `set-aside list` and `release`: background jobs that keep failing. */
export function registerSetAside(program: ParentCommand, cli: OpenCli): void {
  const setAside = program
    .command("set-aside")
    .description("manage background jobs that keep failing (all others continue)");
  setAside
    .command("list")
    .description("list the background jobs that fail or are set aside (webhooks: `webhooks deliveries`)")
    .action(() => runOnSystem(cli(), list));
  setAside
    .command("release")
    .description("retry a background job within seconds, once its cause is fixed")
    .argument("[id]", "the id of the reservation, station, event or source that fails")
    .option("--all", "every failing job of the system")
    .action((id, { all = false }) => {
      if ((id === undefined) !== all) throw new UsageError("Name either the id of a failing job or --all.");
      return runOnSystem(cli(), (context) => release(context, id));
    });
}

async function list({ db, systemId }: SystemContext): Promise<Result> {
  const units = await setAsideUnits(db, systemId);
  const columns = {
    job: "work",
    id: "unit",
    since: "since",
    crashes: "crashes",
    failures: "failures",
    "next try": ({ next_try_at: at }: (typeof units)[number]) => at ?? "when released",
    reason: "message",
  } as const;
  return { object: { units }, table: table(units, columns, "No failing background jobs.") };
}

async function release(context: SystemContext, id: string | undefined): Promise<Result> {
  const released = await releaseUnits(context, context.systemId, id);
  return {
    object: { released },
    table: table(released, { job: "work", id: "unit" }, "No failing background jobs."),
    notes:
      released.length === 0
        ? []
        : ["A worker retries each within seconds; `set-aside list` shows those that fail again."],
  };
}
