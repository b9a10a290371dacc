import type { Command } from "commander";
import type { Database } from "../db/database.ts";
import { loadSecrets, secretsPath } from "../secrets.ts";
import { rotateSecret, type SecretContext, setEndpoint } from "../webhooks/endpoint-settings.ts";
import { pauseEndpoint, resumeEndpoint, showEndpoint } from "../webhooks/endpoint-status.ts";
import { offeredEvents } from "../webhooks/endpoint.ts";
import { createSecretSealer } from "../webhooks/secret.ts";
import type { CliContext } from "./context.ts";
import { readDuration, systemOption } from "./options.ts";
import { UsageError } from "./usage-error.ts";
import { registerDeliveries } from "./webhooks-deliveries.ts";
import { readList, withPartner } from "./webhooks-options.ts";
import { describeEndpoint, describeReplayNeed, describeSecret } from "./webhooks-text.ts";

interface PartnerOption {
  readonly partner: string;
}

interface SetOptions extends PartnerOption {
  readonly url?: string;
  readonly events?: string;
  /** False: `--no-email`. */
  readonly email?: string | false;
}

interface RotateOptions extends PartnerOption {
  readonly overlap: string;
  readonly lostSecrets?: boolean;
}

/** `webhooks` with everything on a partner's endpoint and its deliveries. */
export function registerWebhooks(program: Command, context: () => CliContext): void {
  const webhooks = program.command("webhooks").description("where partners' events are sent, and what became of them");
  withPartner(webhooks.command("set"))
    .description("make a partner's endpoint, or change it; what is left out stays")
    .option("--url <URL>", "where events are POSTed; https")
    .option("--events <a,b>", `which events: ${offeredEvents.join(", ")}`)
    .option("--email <address>", "who hears that deliveries fail")
    .option("--no-email", "nobody does")
    .action((options: SetOptions, command: Command) => set(context(), options, command));
  withPartner(webhooks.command("show"))
    .description("show an endpoint and how it does; never its secrets")
    .action((options: PartnerOption, command: Command) => show(context(), options, command));
  withPartner(webhooks.command("pause"))
    .description("hold what happens from now on, for up to 30 days")
    .action((options: PartnerOption, command: Command) => pause(context(), options, command));
  withPartner(webhooks.command("resume"))
    .description("send to a paused endpoint again, beginning with one probe")
    .action((options: PartnerOption, command: Command) => resume(context(), options, command));
  withPartner(webhooks.command("rotate"))
    .description("make a new secret; the old ones sign beside it for a while")
    .option("--overlap <duration>", "how long both sign: 0h to 7d", "24h")
    .option("--lost-secrets", "the secrets file that sealed the old secrets is gone for good: they end now")
    .action((options: RotateOptions, command: Command) => rotate(context(), options, command));
  registerDeliveries(webhooks, context);
}

async function set(cli: CliContext, options: SetOptions, command: Command): Promise<void> {
  const events = options.events === undefined ? undefined : readList(options.events);
  const email = options.email === false ? null : options.email;
  if (options.url === undefined && events === undefined && email === undefined) {
    throw new UsageError("Say what to set: --url, --events, --email or --no-email.");
  }
  await withSecrets(cli, command, async (context, systemId) => {
    const { endpoint, outcome, secret } = await setEndpoint(
      { ...context, rules: cli.config.webhooks },
      { systemId, partnerId: options.partner, url: options.url, events, email },
    );
    const { id, url, status } = endpoint;
    const lines = [
      `${{ created: "Made", changed: "Changed", unchanged: "Nothing to change at" }[outcome]} endpoint ${id}: ${url}`,
      `Events: ${endpoint.events.join(", ")}`,
      ...(secret === null ? ["Its secret stays as it is."] : ["", ...describeSecret(secret)]),
      ...(status === "paused" ? ["It stays paused: `webhooks resume` begins with one probe."] : []),
    ];
    cli.output.result(
      {
        id,
        partner_id: endpoint.partner_id,
        url,
        events: endpoint.events,
        email: endpoint.email,
        secret,
        status,
        outcome,
      },
      lines.join("\n"),
    );
  });
}

async function show(cli: CliContext, { partner }: PartnerOption, command: Command): Promise<void> {
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const view = await showEndpoint({ db, clock: cli.clock }, { systemId, partnerId: partner });
    cli.output.result({ ...view }, describeEndpoint(view));
  });
}

async function pause(cli: CliContext, { partner }: PartnerOption, command: Command): Promise<void> {
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const asked = { systemId, partnerId: partner, reason: "operator" as const };
    const { endpoint, changed } = await pauseEndpoint(contextOf(cli, db), asked);
    const { id, status, pause_reason, paused_at } = endpoint;
    cli.output.result(
      { id, status, pause_reason, paused_at, changed },
      changed
        ? `Paused ${id}. What happens from now on is held for up to 30 days; \`webhooks resume\` goes on.`
        : `${id} was paused already (${pause_reason ?? ""}).`,
    );
  });
}

async function resume(cli: CliContext, { partner }: PartnerOption, command: Command): Promise<void> {
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const resumed = await resumeEndpoint(contextOf(cli, db), { systemId, partnerId: partner });
    const { endpoint, changed, probe, held, held_since } = resumed;
    const { id, status } = endpoint;
    const probing = probe === null ? "The next event is sent as a probe." : `${probe} is sent as a probe.`;
    const lines = changed ? [`Resumed ${id}. ${probing}`] : [`${id} is not paused: it is ${status}.`];
    lines.push(...describeReplayNeed(partner, held, held_since));
    cli.output.result({ id, status, changed, probe, held, held_since }, lines.join("\n"));
  });
}

async function rotate(cli: CliContext, options: RotateOptions, command: Command): Promise<void> {
  const overlap = readDuration("--overlap", options.overlap);
  const lost = options.lostSecrets === true;
  await withSecrets(cli, command, async (context, systemId) => {
    const rotated = await rotateSecret(context, { systemId, partnerId: options.partner, overlap, lost });
    const { endpoint, secret, old_secrets_end_at } = rotated;
    const ends =
      overlap === 0 || lost
        ? "The old ones sign no more."
        : `The old ones sign until ${old_secrets_end_at.toISOString()}.`;
    cli.output.result({ id: endpoint.id, secret, old_secrets_end_at }, [...describeSecret(secret), ends].join("\n"));
  });
}

function contextOf({ clock, ids }: CliContext, db: Database) {
  return { db, clock, ids, actor: "cli" };
}

/** Runs `work` with what seals secrets: the keys of the deployment's secrets file. */
async function withSecrets(
  cli: CliContext,
  command: Command,
  work: (context: SecretContext, systemId: string) => Promise<void>,
): Promise<void> {
  const { config, ids } = cli;
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const { webhookKeys } = await loadSecrets(secretsPath(config), (bytes) => ids.randomBytes(bytes));
    await work({ ...contextOf(cli, db), sealer: createSecretSealer(webhookKeys) }, systemId);
  });
}
