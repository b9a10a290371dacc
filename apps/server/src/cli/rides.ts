import { endAbandonedRides, endRidesStartedBefore } from "../city/fleet/finish-rides.ts";
import { type OpenCli, type ParentCommand, runOnSystem, type SystemContext } from "./context.ts";
import { pastInstant, readValue, UsageError } from "./options.ts";
import { type Result, table } from "./output.ts";

/** `rides end`: ends rides whose end was never reported. */
export function registerRides(program: ParentCommand, cli: OpenCli): void {
  program
    .command("rides")
    .description("manage rides whose end was never reported")
    .command("end")
    .description("end rides whose end was never reported; a bike without a report since then becomes missing")
    .argument("[id...]", "the rides")
    .option("--older-than <time>", "all rides that started before this time: RFC 3339, or a duration ago such as 24h")
    .option("--yes", "confirm --older-than: ended rides stay ended")
    .action((ids, { olderThan, yes = false }) => {
      if (ids.length > 0 === (olderThan !== undefined))
        throw new UsageError("Name either the rides or a time with --older-than.");
      const context = cli();
      const before =
        olderThan === undefined ? undefined : readValue("--older-than", olderThan, pastInstant(context.clock()));
      if (before !== undefined && !yes) {
        throw new UsageError(
          `This ends every ride that started before ${before.toISOString()}. Nothing was changed. Add --yes to do it.`,
        );
      }
      return runOnSystem(context, (opened) => endRides(opened, ids, before));
    });
}

async function endRides(context: SystemContext, ids: readonly string[], before: Date | undefined): Promise<Result> {
  const { results, failed } =
    before === undefined
      ? await endAbandonedRides(context, context.systemId, ids, "operator")
      : await endRidesStartedBefore(context, context.systemId, before);
  const columns = { ride: "id", result: ({ error }: (typeof results)[number]) => error?.message ?? "ended" } as const;
  return {
    object: { results, failed },
    table: table(results, columns, "No such ride is under way."),
    failure: failed === 0 ? undefined : `${failed} of ${results.length} rides could not be ended.`,
  };
}
