import type { Command } from "commander";
import { checkInvariants } from "../check/service.ts";
import type { CliContext } from "./context.ts";
import { systemOption } from "./options.ts";

/** `check`: whether what is stored agrees with itself. */
export function registerCheck(program: Command, context: () => CliContext): void {
  program
    .command("check")
    .description("check that what is stored agrees with itself; ends with 1 when it does not")
    .action((_options: unknown, command: Command) => check(context(), command));
}

async function check(cli: CliContext, command: Command): Promise<void> {
  const { output, withDatabase, resolveSystem } = cli;
  await withDatabase(async (db) => {
    const systemId = await resolveSystem(db, systemOption(command));
    const invariants = await checkInvariants(db, systemId);
    const broken = invariants.filter((invariant) => invariant.broken > 0);
    const lines = invariants.map(({ name, meaning, broken: n, examples }) =>
      n === 0 ? `ok      ${name}` : `BROKEN  ${name}: ${meaning} Not so for ${n}: ${examples.join(", ")}`,
    );
    output.result({ system: systemId, ok: broken.length === 0, invariants }, lines.join("\n"));
    if (broken.length > 0) {
      throw new Error(`${broken.length} of ${invariants.length} invariants are broken in system ${systemId}.`);
    }
  });
}
