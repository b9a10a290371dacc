import { EVENT_RETENTION_DAYS } from "@bikeshare/contract";
import { ServiceError } from "@bikeshare/rules";
import type { Command } from "commander";
import { commandError } from "../errors/command-errors.ts";
import { secretsPath } from "../secrets.ts";
import { readSecrets } from "../startup/service-secrets.ts";
import { oneOf } from "../startup/values.ts";
import type { SecretContext } from "../webhooks/endpoints/endpoint-context.ts";
import { rotateSecret } from "../webhooks/endpoints/endpoint-secrets.ts";
import { setEndpoint } from "../webhooks/endpoints/endpoint-settings.ts";
import { pauseEndpoint, removeEndpoint, resumeEndpoint } from "../webhooks/endpoints/endpoint-status.ts";
import { listEndpointsWithStatus, showEndpoint, unreadableEvents } from "../webhooks/endpoints/endpoint-view.ts";
import { MAX_OVERLAP_DAYS, offeredEvents } from "../webhooks/endpoints/endpoint.rules.ts";
import { createSecretCipher } from "../webhooks/endpoints/secret.ts";
import { type CliContext, withSystem } from "./context.ts";
import { listOf, option, overlapOption, type PartnerOption, UsageError, withPartner } from "./options.ts";
import { registerDeliveries } from "./webhook-deliveries.ts";
import {
  describeEndpoint,
  describeOverview,
  describeRemoved,
  describeReplayNeed,
  describeSecret,
  describeSet,
} from "./webhooks-text.ts";

interface SetOptions extends PartnerOption {
  readonly url?: string;
  readonly events?: readonly string[];
  /** False: `--no-email`. */
  readonly email?: string | false;
  readonly signature?: "service" | "both";
}

interface RotateOptions extends PartnerOption {
  readonly overlap: number;
  readonly lostSecrets?: boolean;
}

/** `webhooks`: a partner's endpoint, and with webhook-deliveries.ts its deliveries. */
export function registerWebhooks(program: Command, context: () => CliContext): void {
  const webhooks = program.command("webhooks").description("where partners' events are sent, and what became of them");
  withPartner(webhooks.command("set"))
    .description("create a partner's endpoint, or change it; what is left out stays")
    .option("--url <URL>", "where events are POSTed; https")
    .addOption(option("--events <a,b>", `which events: ${offeredEvents.join(", ")}`, listOf(String)))
    .option("--email <address>", "who is informed when deliveries fail")
    .option("--no-email", "nobody is")
    .addOption(
      option(
        "--signature <scheme>",
        "service, or both: Standard Webhooks headers beside Service-Signature",
        signatureFrom,
      ),
    )
    .action((options: SetOptions) => set(context(), options));
  webhooks
    .command("list")
    .description("list every partner's endpoint and its status")
    .action(() => list(context()));
  withPartner(webhooks.command("show"))
    .description("show an endpoint and its status; never its secrets")
    .action((options: PartnerOption) => show(context(), options));
  withPartner(webhooks.command("pause"))
    .description(`hold events from now on, for up to ${EVENT_RETENTION_DAYS} days`)
    .action((options: PartnerOption) => pause(context(), options));
  withPartner(webhooks.command("resume"))
    .description("send to a paused endpoint again, beginning with one probe")
    .action((options: PartnerOption) => resume(context(), options));
  withPartner(webhooks.command("rotate"))
    .description("make a new secret; the old ones sign beside it for a while")
    .addOption(overlapOption("how long both sign", MAX_OVERLAP_DAYS))
    .option("--lost-secrets", "the secrets file that encrypted the old secrets is lost: they end now")
    .action((options: RotateOptions) => rotate(context(), options));
  withPartner(webhooks.command("remove"))
    .description("end an endpoint: its secrets are destroyed, nothing more is sent; its log and the audit log stay")
    .action((options: PartnerOption) => remove(context(), options));
  registerDeliveries(webhooks, context);
}

/** `standard` is accepted for `both`: by the interface's specification every delivery has a Service-Signature. */
function signatureFrom(text: string): "service" | "both" {
  return oneOf(["service", "both", "standard"])(text) === "service" ? "service" : "both";
}

async function set(cli: CliContext, options: SetOptions): Promise<void> {
  const { partner: partnerId, url, events, signature } = options;
  const email = options.email === false ? null : options.email;
  if (url === undefined && events === undefined && email === undefined && signature === undefined) {
    throw new UsageError("Give at least one of --url, --events, --email, --no-email and --signature.");
  }
  await withSecrets(cli, async (context, systemId) => {
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

async function list(cli: CliContext): Promise<void> {
  await withSystem(cli, async (context, systemId) => {
    const overview = await listEndpointsWithStatus(context, systemId);
    cli.output.result({ ...overview }, describeOverview(overview));
  });
}

async function show(cli: CliContext, { partner }: PartnerOption): Promise<void> {
  await withSystem(cli, async (context, systemId) => {
    const view = await showEndpoint(context, { systemId, partnerId: partner });
    cli.output.result({ ...view }, describeEndpoint(view));
  });
}

async function pause(cli: CliContext, { partner }: PartnerOption): Promise<void> {
  await withSystem(cli, async (context, systemId) => {
    const asked = { systemId, partnerId: partner, reason: "operator" as const };
    const { endpoint, changed } = await pauseEndpoint(context, asked);
    const { id, status, pause_reason, paused_at } = endpoint;
    cli.output.result(
      { id, status, pause_reason, paused_at, changed },
      changed
        ? `Paused ${id}. Events are held from now on, for up to ${EVENT_RETENTION_DAYS} days; \`webhooks resume\` sends again.`
        : `${id} was paused already (${pause_reason ?? ""}).`,
    );
  });
}

async function resume(cli: CliContext, { partner }: PartnerOption): Promise<void> {
  await withSystem(cli, async (context, systemId) => {
    const resumed = await resumeEndpoint(context, { systemId, partnerId: partner });
    const { endpoint, changed, probe, held, held_since } = resumed;
    const { id, status } = endpoint;
    const probing = probe === null ? "The next event is sent as a probe." : `${probe} is sent as a probe.`;
    const lines = changed ? [`Resumed ${id}. ${probing}`] : [`${id} is not paused: it is ${status}.`];
    lines.push(...describeReplayNeed(partner, held, held_since));
    cli.output.result({ id, status, changed, probe, held, held_since }, lines.join("\n"));
  });
}

async function remove(cli: CliContext, { partner }: PartnerOption): Promise<void> {
  await withSystem(cli, async (context, systemId) => {
    const { endpoint, changed, unsent } = await removeEndpoint(context, { systemId, partnerId: partner });
    const { id, status, pause_reason, paused_at } = endpoint;
    cli.output.result(
      { id, status, pause_reason, paused_at, changed, unsent },
      changed
        ? describeRemoved(id, partner, unsent)
        : `${id} was removed already, ${paused_at?.toISOString() ?? ""}. Nothing was changed.`,
    );
  });
}

async function rotate(cli: CliContext, options: RotateOptions): Promise<void> {
  const { partner: partnerId, overlap, lostSecrets: lost = false } = options;
  await withSecrets(
    cli,
    async (context, systemId) => {
      const rotated = await rotateSecret(context, { systemId, partnerId, overlap, lost });
      const { endpoint, secret, old_secrets_end_at } = rotated;
      const ends =
        overlap === 0 || lost
          ? "The old ones no longer sign."
          : `The old ones sign until ${old_secrets_end_at.toISOString()}.`;
      cli.output.result({ id: endpoint.id, secret, old_secrets_end_at }, [...describeSecret(secret), ends].join("\n"));
    },
    lost,
  );
}

/** Runs `work` with the cipher of the deployment's secrets file. @param isNew whether the file may be a new one */
async function withSecrets(
  cli: CliContext,
  work: (context: SecretContext, systemId: string) => Promise<void>,
  isNew = false,
): Promise<void> {
  const { config, ids } = cli;
  await withSystem(cli, async (context, systemId) => {
    const { webhookKeys } = await readSecrets({ db: context.db, config, ids }, isNew);
    try {
      await work({ ...context, cipher: createSecretCipher(webhookKeys) }, systemId);
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === "secrets_file_mismatch")) throw error;
      throw commandError("secrets_file_mismatch", "usedBy", { message: error.message, path: secretsPath(config) });
    }
  });
}
