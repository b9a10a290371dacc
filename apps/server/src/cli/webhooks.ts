import type { Command } from "commander";
import { commandError } from "../errors/command-errors.ts";
import { ServiceError } from "../errors/service-error.ts";
import { secretsPath } from "../secrets.ts";
import { readSecrets } from "../startup/service-secrets.ts";
import type { SecretContext } from "../webhooks/endpoints/endpoint-context.ts";
import { rotateSecret } from "../webhooks/endpoints/endpoint-secrets.ts";
import { type SetEndpoint, setEndpoint } from "../webhooks/endpoints/endpoint-settings.ts";
import { unreadableEvents } from "../webhooks/endpoints/endpoint-view.ts";
import { MAX_OVERLAP_DAYS, offeredEvents } from "../webhooks/endpoints/endpoint.rules.ts";
import { createSecretCipher } from "../webhooks/endpoints/secret.ts";
import type { CliContext } from "./context.ts";
import { readDuration, readWord, systemOption } from "./options.ts";
import { UsageError } from "./usage-error.ts";
import { registerDeliveries } from "./webhooks-deliveries.ts";
import { registerEndpoint } from "./webhooks-endpoint.ts";
import { contextOf, type PartnerOption, readList, withPartner } from "./webhooks-options.ts";
import { registerTest } from "./webhooks-test-delivery.ts";
import { describeSecret, describeSignature, describeUnreadable } from "./webhooks-text.ts";

interface SetOptions extends PartnerOption {
  readonly url?: string;
  readonly events?: string;
  /** False: `--no-email`. */
  readonly email?: string | false;
  readonly signature?: string;
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
    .option("--signature <scheme>", "service, or both: Standard Webhooks headers beside Service-Signature")
    .action((options: SetOptions, command: Command) => set(context(), options, command));
  registerEndpoint(webhooks, context);
  withPartner(webhooks.command("rotate"))
    .description("make a new secret; the old ones sign beside it for a while")
    .option("--overlap <duration>", "how long both sign: 0h to 7d", "24h")
    .option("--lost-secrets", "the secrets file that sealed the old secrets is gone for good: they end now")
    .action((options: RotateOptions, command: Command) => rotate(context(), options, command));
  registerTest(webhooks, context);
  registerDeliveries(webhooks, context);
}

async function set(cli: CliContext, options: SetOptions, command: Command): Promise<void> {
  const events = options.events === undefined ? undefined : readList(options.events);
  const email = options.email === false ? null : options.email;
  const signature = options.signature === undefined ? undefined : readSignature(options.signature);
  if (options.url === undefined && events === undefined && email === undefined && signature === undefined) {
    throw new UsageError("Say what to set: --url, --events, --email, --no-email or --signature.");
  }
  const { partner: partnerId, url } = options;
  await withSecrets(cli, command, async (context, systemId) => {
    const rules = cli.config.webhooks;
    const made = await setEndpoint({ ...context, rules }, { systemId, partnerId, url, events, email, signature });
    const unreadable = await unreadableEvents(context, { systemId, partnerId }, made.endpoint.events);
    const { endpoint, outcome, secret } = made;
    cli.output.result(
      {
        id: endpoint.id,
        partner_id: partnerId,
        url: endpoint.url,
        events: endpoint.events,
        unreadable_events: unreadable,
        email: endpoint.email,
        signature: endpoint.signature,
        secret,
        old_secrets_end_at: made.old_secrets_end_at,
        status: endpoint.status,
        outcome,
      },
      describeSet(made, unreadable),
    );
  });
}

/** `standard` is taken for `both`: by the interface's specification every delivery has a Service-Signature. */
function readSignature(text: string): "service" | "both" {
  return readWord("--signature", text, ["service", "both", "standard"]) === "service" ? "service" : "both";
}

function describeSet(
  { endpoint, outcome, secret, old_secrets_end_at: oldEnd }: SetEndpoint,
  unreadable: readonly string[],
): string {
  const { id, partner_id: partner, url, events, status } = endpoint;
  return [
    `${{ created: "Made", changed: "Changed", unchanged: "Nothing to change at" }[outcome]} endpoint ${id}: ${url}`,
    `Events: ${events.join(", ")}`,
    `Signed with: ${describeSignature(endpoint.signature)}`,
    ...describeUnreadable(unreadable),
    ...(secret === null ? ["Its secret stays as it is."] : ["", ...describeSecret(secret)]),
    ...(oldEnd === null ? [] : [`The old ones sign Service-Signature until ${oldEnd.toISOString()}.`]),
    ...(status === "paused" ? ["It stays paused: `webhooks resume` begins with one probe."] : []),
    ...(outcome === "created" ? ["", `\`webhooks test --partner ${partner}\` sends it a first example.`] : []),
  ].join("\n");
}

async function rotate(cli: CliContext, options: RotateOptions, command: Command): Promise<void> {
  const overlap = readDuration("--overlap", options.overlap, "0h", `${MAX_OVERLAP_DAYS}d`);
  const lost = options.lostSecrets === true;
  await withSecrets(
    cli,
    command,
    async (context, systemId) => {
      const rotated = await rotateSecret(context, { systemId, partnerId: options.partner, overlap, lost });
      const { endpoint, secret, old_secrets_end_at } = rotated;
      const ends =
        overlap === 0 || lost
          ? "The old ones sign no more."
          : `The old ones sign until ${old_secrets_end_at.toISOString()}.`;
      cli.output.result({ id: endpoint.id, secret, old_secrets_end_at }, [...describeSecret(secret), ends].join("\n"));
    },
    lost,
  );
}

/** Runs `work` with what seals secrets: the keys of the deployment's secrets file. */
async function withSecrets(
  cli: CliContext,
  command: Command,
  work: (context: SecretContext, systemId: string) => Promise<void>,
  isNew = false,
): Promise<void> {
  const { config, ids } = cli;
  const path = secretsPath(config);
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const { webhookKeys } = await readSecrets({ db, config, ids }, isNew);
    try {
      await work({ ...contextOf(cli, db), cipher: createSecretCipher(webhookKeys) }, systemId);
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === "secrets_file_mismatch")) throw error;
      throw commandError("secrets_file_mismatch", "usedBy", { message: error.message, path });
    }
  });
}
