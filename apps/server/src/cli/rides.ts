import { endAbandonedRides, endRidesStartedBefore } from "../city/fleet/long-rides.ts";
import { type OpenCli, type ParentCommand, type SystemContext, withSystem } from "./context.ts";
import { pastInstant, readValue, UsageError } from "./options.ts";

/** `rides end`: ends rides that nobody ended. */
export function registerRides(program: ParentCommand, cli: OpenCli): void {
  program
    .command("rides")
    .description("rides that nobody ended")
    .command("end")
    .description("end rides whose end was never reported; a bike that reported nothing since is missing")
    .argument("[id...]", "the rides")
    .option(
      "--older-than <time>",
      "all that started before this time: RFC 3339, or a duration back from now such as 24h",
    )
    .option("--yes", "end all of them, with --older-than: it cannot be undone")
    .action((ids, { olderThan, yes = false }) => {
      if (ids.length > 0 === (olderThan !== undefined)) throw new UsageError("Name rides, or say --older-than.");
      const context = cli();
      const before =
        olderThan === undefined ? undefined : readValue("--older-than", olderThan, pastInstant(context.clock()));
      if (before !== undefined && !yes) {
        throw new UsageError("This ends every ride that started before then. Nothing was changed. Add --yes to do it.");
      }
      return withSystem(context, (opened, systemId) => endRides(opened, systemId, ids, before));
    });
}

async function endRides(
  context: SystemContext,
  systemId: string,
  ids: readonly string[],
  before: Date | undefined,
): Promise<void> {
  const { results, failed } =
    before === undefined
      ? await endAbandonedRides(context, systemId, ids, "operator")
      : await endRidesStartedBefore(context, systemId, before);
  const lines = results.map(({ id, error }) => `${id ?? ""}: ${error === null ? "ended" : error.message}`);
  context.output.result({ results, failed }, lines.length === 0 ? "No such ride is under way." : lines.join("\n"));
  if (failed > 0) throw new Error(`${failed} of ${results.length} rides could not be ended.`);
}
