import { EVENT_RETENTION_DAYS } from "@bikeshare/contract";
import { ServiceError } from "@bikeshare/rules";
import type { ActorContext } from "../command-context.ts";
import { commandError } from "../command-errors.ts";
import type { Config } from "../config.ts";
import { readSecrets } from "../runtime/startup/service-secrets.ts";
import { integer, oneOf } from "../runtime/startup/values.ts";
import { secretsPath } from "../storage/secrets/secrets.ts";
import type { PartnerScope, SecretContext } from "../webhooks/endpoints/endpoint-context.ts";
import { rotateSecret } from "../webhooks/endpoints/endpoint-secrets.ts";
import { setEndpoint } from "../webhooks/endpoints/endpoint-settings.ts";
import { pauseEndpoint, removeEndpoint, resumeEndpoint } from "../webhooks/endpoints/endpoint-status.ts";
import { listEndpointsWithStatus, showEndpoint, unreadableEvents } from "../webhooks/endpoints/endpoint-view.ts";
import { MAX_OVERLAP_DAYS, offeredEvents } from "../webhooks/endpoints/endpoint.rules.ts";
import { dropHeld, type HeldDeliveries, sendHeld, showHeld } from "../webhooks/endpoints/held.ts";
import { createSecretCipher } from "../webhooks/endpoints/secret.ts";
import type { AddressRules } from "../webhooks/rules/receiver-url.ts";
import { type CliContext, type OpenCli, type ParentCommand, type SystemContext, withSystem } from "./context.ts";
import { listOf, option, overlapOption, partnerOption, UsageError } from "./options.ts";
import { addressOfStart } from "./start-lock.ts";
import { rulesForTrying } from "./start-webhooks.ts";
import { registerDeliveries } from "./webhook-deliveries.ts";
import {
  describeEndpoint,
  describeHeld,
  describeOverview,
  describeRemoved,
  describeSecret,
  describeSet,
} from "./webhooks-text.ts";

/** `webhooks`: a partner's endpoint, and with webhook-deliveries.ts its deliveries. */
export function registerWebhooks(program: ParentCommand, cli: OpenCli): void {
  const webhooks = program.command("webhooks").description("where partners' events are sent, and what became of them");
  registerSet(webhooks, cli);
  webhooks
    .command("list")
    .description("list every partner's endpoint and its status")
    .action(() =>
      withSystem(cli(), async (context, systemId) => {
        const overview = await listEndpointsWithStatus(context, systemId);
        context.output.result({ ...overview }, describeOverview(overview));
      }),
    );
  webhooks
    .command("show")
    .description("show an endpoint and its status; never its secrets")
    .requiredOption(...partnerOption)
    .action(({ partner: partnerId }) =>
      withSystem(cli(), async (context, systemId) => {
        const view = await showEndpoint(context, { systemId, partnerId });
        context.output.result({ ...view }, describeEndpoint(view));
      }),
    );
  registerPauseAndResume(webhooks, cli);
  registerHeld(webhooks, cli);
  registerRotate(webhooks, cli);
  registerRemove(webhooks, cli);
  registerDeliveries(webhooks, cli);
}

function registerSet(webhooks: ParentCommand, cli: OpenCli): void {
  const schemes = "service, or both: Standard Webhooks headers beside Service-Signature";
  webhooks
    .command("set")
    .description("create a partner's endpoint, or change it; what is left out stays")
    .requiredOption(...partnerOption)
    .option("--url <URL>", "where events are POSTed; https")
    .addOption(option("--events <a,b>", `which events: ${offeredEvents.join(", ")}`, listOf(String)))
    .option("--email <address>", "who is informed when deliveries fail")
    .option("--no-email", "nobody is")
    .addOption(option("--signature <scheme>", schemes, signatureFrom))
    .action(({ partner: partnerId, url, events, signature, ...given }) => {
      const email = given.email === false ? null : given.email;
      if (url === undefined && events === undefined && email === undefined && signature === undefined) {
        throw new UsageError("Give at least one of --url, --events, --email, --no-email and --signature.");
      }
      return withSecrets(cli(), { mayBeNew: false }, async (context, systemId) => {
        const rules = await addressRules(context.config);
        const made = await setEndpoint({ ...context, rules }, { systemId, partnerId, url, events, email, signature });
        const unreadable = await unreadableEvents(context, { systemId, partnerId }, made.endpoint.events);
        const { endpoint, outcome, secret, old_secrets_end_at } = made;
        context.output.result(
          {
            id: endpoint.id,
            partner_id: partnerId,
            url: endpoint.url,
            events: endpoint.events,
            unreadable_events: unreadable,
            email: endpoint.email,
            signature: endpoint.signature,
            secret,
            old_secrets_end_at,
            status: endpoint.status,
            outcome,
          },
          describeSet(made, unreadable),
        );
      });
    });
}

/** The rules of the process that sends: of a `start` that is running here, else those of the configuration. */
async function addressRules(config: Config): Promise<AddressRules> {
  return (await addressOfStart(config)) === undefined ? config.webhooks : rulesForTrying(config.webhooks);
}

/** `standard` is accepted for `both`: by the interface's specification every delivery has a Service-Signature. */
function signatureFrom(text: string): "service" | "both" {
  return oneOf(["service", "both", "standard"])(text) === "service" ? "service" : "both";
}

function registerPauseAndResume(webhooks: ParentCommand, cli: OpenCli): void {
  webhooks
    .command("pause")
    .description(`hold events from now on, for up to ${EVENT_RETENTION_DAYS} days`)
    .requiredOption(...partnerOption)
    .action(({ partner: partnerId }) =>
      withSystem(cli(), async (context, systemId) => {
        const { endpoint, changed } = await pauseEndpoint(context, { systemId, partnerId, reason: "operator" });
        const { id, status, pause_reason, paused_at } = endpoint;
        context.output.result(
          { id, status, pause_reason, paused_at, changed },
          changed
            ? `Paused ${id}. Events are held from now on, for up to ${EVENT_RETENTION_DAYS} days; \`webhooks resume\` sends again.`
            : `${id} was paused already (${pause_reason ?? ""}).`,
        );
      }),
    );
  webhooks
    .command("resume")
    .description("send to a paused endpoint again, beginning with one probe")
    .requiredOption(...partnerOption)
    .option("--send-held", "send what is held as well, once the probe has succeeded")
    .action(({ partner: partnerId, sendHeld: sendsHeld = false }) =>
      withSystem(cli(), async (context, systemId) => {
        const resumed = await resumeEndpoint(context, { systemId, partnerId, sendsHeld });
        const { endpoint, changed, probe, sent, held, held_since } = resumed;
        const { id, status } = endpoint;
        const probing = probe === null ? "The next event is sent as a probe." : `${probe} is sent as a probe.`;
        const lines = [
          changed ? `Resumed ${id}. ${probing}` : `${id} is not paused: it is ${status}.`,
          ...(sent === 0 ? [] : [`${sent} held deliveries are sent once the endpoint is active.`]),
          ...describeHeld(partnerId, held),
        ];
        context.output.result({ id, status, changed, probe, sent, held, held_since }, lines.join("\n"));
      }),
    );
}

function registerRotate(webhooks: ParentCommand, cli: OpenCli): void {
  webhooks
    .command("rotate")
    .description("make a new secret; the old ones sign beside it for a while")
    .requiredOption(...partnerOption)
    .addOption(overlapOption("how long both sign", MAX_OVERLAP_DAYS))
    .option("--lost-secrets", "the secrets file that encrypted the old secrets is lost: they end now")
    .action(({ partner: partnerId, overlap, lostSecrets: lost = false }) =>
      withSecrets(cli(), { mayBeNew: lost }, async (context, systemId) => {
        const rotated = await rotateSecret(context, { systemId, partnerId, overlap, lost });
        const { endpoint, secret, old_secrets_end_at } = rotated;
        const ends =
          overlap === 0 || lost
            ? "The old ones no longer sign."
            : `The old ones sign until ${old_secrets_end_at.toISOString()}.`;
        const result = { id: endpoint.id, secret, old_secrets_end_at };
        context.output.result(result, [...describeSecret(secret), ends].join("\n"));
      }),
    );
}

function registerRemove(webhooks: ParentCommand, cli: OpenCli): void {
  webhooks
    .command("remove")
    .description("end an endpoint: its secrets are destroyed, nothing more is sent; its log and the audit log stay")
    .requiredOption(...partnerOption)
    .action(({ partner: partnerId }) =>
      withSystem(cli(), async (context, systemId) => {
        const { endpoint, changed, unsent } = await removeEndpoint(context, { systemId, partnerId });
        const { id, status, pause_reason, paused_at } = endpoint;
        context.output.result(
          { id, status, pause_reason, paused_at, changed, unsent },
          changed
            ? describeRemoved(id, partnerId, unsent)
            : `${id} was removed already, ${paused_at?.toISOString() ?? ""}. Nothing was changed.`,
        );
      }),
    );
}

/** Runs a command on one system with the cipher of the deployment's secrets file, which may be a new one where that is said. */
function withSecrets(
  cli: CliContext,
  { mayBeNew }: { readonly mayBeNew: boolean },
  work: (context: SystemContext & SecretContext, systemId: string) => Promise<void>,
): Promise<void> {
  return withSystem(cli, async (context, systemId) => {
    const { webhookKeys } = await readSecrets(context, mayBeNew);
    try {
      await work({ ...context, cipher: createSecretCipher(webhookKeys) }, systemId);
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === "secrets_file_mismatch")) throw error;
      const path = secretsPath(context.config);
      throw commandError("secrets_file_mismatch", "usedBy", { message: error.message, path });
    }
  });
}

/** `webhooks send-held` and `drop-held`: what becomes of deliveries that were held while an endpoint was paused. */
function registerHeld(webhooks: ParentCommand, cli: OpenCli): void {
  webhooks
    .command("send-held")
    .description("send what is held, after current events, as soon as the endpoint is active")
    .requiredOption(...partnerOption)
    .action(({ partner: partnerId }) =>
      withSystem(cli(), async (context, systemId) => {
        const sent = await sendHeld(context, { systemId, partnerId });
        const text = sent === 0 ? "Nothing is held that is not being sent." : `${sent} held deliveries are sent.`;
        context.output.result({ sent }, text);
      }),
    );
  webhooks
    .command("drop-held")
    .description("give up what is held; each can be sent again for as long as the log keeps it")
    .requiredOption(...partnerOption)
    .addOption(
      option("--count <n>", "how many are held, as this command says without it", integer(1, Number.MAX_SAFE_INTEGER)),
    )
    .action(({ partner: partnerId, count }) =>
      withSystem(cli(), async (context, systemId) => {
        const scope = { systemId, partnerId };
        const { total, until } = await showHeld(context, scope);
        const dropped = count === undefined ? 0 : await dropAll(context, scope, { total: count, until });
        const how = total === 0 ? "" : ` To drop them: webhooks drop-held --partner ${partnerId} --count ${total}`;
        const text =
          count === undefined ? `${total} deliveries are held.${how}` : `Dropped ${dropped} held deliveries.`;
        context.output.result({ dropped, held: total - dropped }, text);
      }),
    );
}

/** Drops batch by batch what was counted. */
async function dropAll(context: ActorContext, scope: PartnerScope, seen: HeldDeliveries): Promise<number> {
  let dropped = 0;
  for (let total = seen.total; total > 0;) {
    const batch = await dropHeld(context, scope, { ...seen, total });
    if (batch.dropped === 0) break;
    dropped += batch.dropped;
    total = batch.remaining;
  }
  return dropped;
}
