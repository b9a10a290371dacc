import type { Command } from "commander";
import { listActs } from "../audit/audit-log.ts";
import type { CliContext } from "./context.ts";
import { readInteger, systemOption } from "./options.ts";
import { table } from "./table.ts";
import { readPast } from "./webhooks-options.ts";

interface ListOptions {
  readonly since?: string;
  readonly actor?: string;
  readonly subject?: string;
  readonly limit: string;
}

/** `audit list`. */
export function registerAudit(program: Command, context: () => CliContext): void {
  program
    .command("audit")
    .description("who did what to systems, partners, keys and webhooks")
    .command("list")
    .description("list acts, the newest first")
    .option("--since <time>", "RFC 3339, or a time back from now such as 24h")
    .option("--actor <actor>", "cli:<account>, server, or cli for every account")
    .option("--subject <id>", "what it was done to: the id of a system, partner, key, endpoint or delivery")
    .option("--limit <n>", "how many at most", "100")
    .action((options: ListOptions, command: Command) => list(context(), options, command));
}

async function list(cli: CliContext, options: ListOptions, command: Command): Promise<void> {
  const since = options.since === undefined ? undefined : readPast("--since", options.since, cli.clock());
  const limit = readInteger("--limit", options.limit, 1, 100_000);
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const entries = await listActs(db, systemId, { since, actor: options.actor, subject: options.subject, limit });
    cli.output.result(
      { entries },
      table(
        ["at", "actor", "action", "subject", "detail"],
        entries.map(({ at, actor, action, subject, detail }) => [
          at.toISOString(),
          actor,
          action,
          subject,
          JSON.stringify(detail),
        ]),
      ),
    );
  });
}
