import { listActs } from "../partners/audit/queries.ts";
import { type OpenCli, type ParentCommand, runOnSystem } from "./context.ts";
import { limitOption, pastInstant, readValue } from "./options.ts";
import { table } from "./output.ts";

/** `audit list`. */
export function registerAudit(program: ParentCommand, cli: OpenCli): void {
  program
    .command("audit")
    .description("read the audit log")
    .command("list")
    .description("list who changed systems, partners, keys, webhooks and people, newest first")
    .option("--since <time>", "only entries from this time on: RFC 3339, or a duration ago such as 24h")
    .option("--actor <actor>", "only this actor: cli:<account>, server, person:<id>, or cli for every account")
    .option("--subject <id>", "only changes of this system, partner, key, endpoint, delivery or person")
    .addOption(limitOption(100_000, 100))
    .action(({ since: text, ...filters }) => {
      const context = cli();
      const since = text === undefined ? undefined : readValue("--since", text, pastInstant(context.clock()));
      return runOnSystem(context, async ({ db, systemId }) => {
        const entries = await listActs(db, systemId, { since, ...filters });
        const detail = (entry: (typeof entries)[number]) => JSON.stringify(entry.detail);
        const columns = { at: "at", actor: "actor", action: "action", subject: "subject", detail } as const;
        return { object: { entries }, table: table(entries, columns, "No audit entries.") };
      });
    });
}
