import { releaseUnits, setAsideUnits } from "../storage/set-aside/service.ts";
import { type OpenCli, type ParentCommand, type SystemContext, withSystem } from "./context.ts";
import { UsageError } from "./options.ts";
import { table } from "./output.ts";

/** `set-aside`: the background work that fails, so that the rest can go on without it. */
export function registerSetAside(program: ParentCommand, cli: OpenCli): void {
  const setAside = program
    .command("set-aside")
    .description("background work that fails, beside which the rest goes on");
  setAside
    .command("list")
    .description("list what fails or is set aside, with the reason; webhooks: webhooks deliveries --status failed")
    .action(() => withSystem(cli(), list));
  setAside
    .command("release")
    .description("have it tried again within seconds, once its cause is mended")
    .argument("[id]", "what fails: the id of a reservation, a station, an event or a source")
    .option("--all", "everything of the system")
    .action((id, { all = false }) => {
      if ((id === undefined) !== all) throw new UsageError("Name what to release, or say --all.");
      return withSystem(cli(), (context, systemId) => release(context, systemId, id));
    });
}

async function list({ db, output }: SystemContext, systemId: string): Promise<void> {
  const units = await setAsideUnits(db, systemId);
  const columns = {
    work: "work",
    id: "unit",
    since: "since",
    crashes: "crashes",
    failures: "failures",
    "next try": ({ next_try_at: at }: (typeof units)[number]) => at?.toISOString() ?? "when released",
    reason: "message",
  } as const;
  output.result({ units }, units.length === 0 ? "Nothing fails." : table(units, columns));
}

async function release(context: SystemContext, systemId: string, id: string | undefined): Promise<void> {
  const released = await releaseUnits(context, systemId, id);
  context.output.result(
    { released },
    `Released ${released.length}: a worker tries each within seconds, and \`set-aside list\` shows those that fail again.`,
  );
}
