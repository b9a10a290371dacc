import { createOpenApiDocument } from "@bikeshare/contract/openapi";
import type { Command } from "commander";
import { listActs } from "../audit/queries.ts";
import { checkInvariants } from "../check/service.ts";
import { integer } from "../startup/values.ts";
import { readVersion } from "../version.ts";
import { type CliContext, withSystem } from "./context.ts";
import { option, pastInstant, readValue } from "./options.ts";
import { table } from "./output.ts";

interface AuditOptions {
  readonly since?: string;
  readonly actor?: string;
  readonly subject?: string;
  readonly limit: number;
}

/** `migrate`, `check`, `audit list` and `openapi`: what an administrator runs beside the service. */
export function registerMaintenance(program: Command, context: () => CliContext): void {
  program
    .command("migrate")
    .description("bring the database's schema up to date; safe when several start at once")
    .action(() => migrate(context()));
  program
    .command("check")
    .description("check that the stored data is consistent; exit status 1 when it is not")
    .action(() => check(context()));
  program
    .command("audit")
    .description("who did what to systems, partners, keys and webhooks")
    .command("list")
    .description("list acts, the newest first")
    .option("--since <time>", "RFC 3339, or a duration back from now such as 24h")
    .option("--actor <actor>", "cli:<account>, server, or cli for every account")
    .option("--subject <id>", "what it was done to: the id of a system, partner, key, endpoint or delivery")
    .addOption(option("--limit <n>", "how many at most", integer(1, 100_000), "100"))
    .action((options: AuditOptions) => listAudit(context(), options));
  program
    .command("openapi")
    .description("print the OpenAPI document")
    .action(() => printOpenApi(context()));
}

/** Every command migrates when it opens the database; this one does nothing else. */
async function migrate({ output, withDatabase }: CliContext): Promise<void> {
  await withDatabase(async (_db, applied) => {
    const lines =
      applied.length === 0 ? ["The schema is up to date."] : ["Applied:", ...applied.map((name) => `  ${name}`)];
    output.result({ applied }, lines.join("\n"));
  });
}

async function check(cli: CliContext): Promise<void> {
  await withSystem(cli, async ({ db }, systemId) => {
    const invariants = await checkInvariants(db, systemId);
    const broken = invariants.filter((invariant) => invariant.broken > 0);
    const lines = invariants.map(({ name, meaning, broken: n, examples }) =>
      n === 0 ? `ok      ${name}` : `BROKEN  ${name}: ${meaning} Not so for ${n}: ${examples.join(", ")}`,
    );
    cli.output.result({ system: systemId, ok: broken.length === 0, invariants }, lines.join("\n"));
    if (broken.length > 0) {
      throw new Error(`${broken.length} of ${invariants.length} invariants are broken in system ${systemId}.`);
    }
  });
}

async function listAudit(cli: CliContext, { since: text, ...filters }: AuditOptions): Promise<void> {
  const since = text === undefined ? undefined : readValue("--since", text, pastInstant(cli.clock()));
  await withSystem(cli, async ({ db }, systemId) => {
    const entries = await listActs(db, systemId, { since, ...filters });
    const shown = table(entries, {
      at: ({ at }) => at,
      actor: ({ actor }) => actor,
      action: ({ action }) => action,
      subject: ({ subject }) => subject,
      detail: ({ detail }) => JSON.stringify(detail),
    });
    cli.output.result({ entries }, shown);
  });
}

/** The document that a running service serves at /openapi.json. */
function printOpenApi({ config, output }: CliContext): void {
  const baseUrl = config.publicUrl ?? `http://${config.host}:${config.port}`;
  const document = createOpenApiDocument({ baseUrl, version: readVersion() });
  output.result({ ...document }, JSON.stringify(document, null, 2));
}
