import { EVENT_RETENTION_DAYS } from "@bikeshare/contract";
import { ServiceError } from "@bikeshare/rules";
import type { ActorContext } from "../command-context.ts";
import { commandError } from "../command-errors.ts";
import type { Config } from "../config.ts";
import { readSecrets } from "../runtime/startup/service-secrets.ts";
import { integer, oneOf } from "../runtime/startup/values.ts";
import { secretsPath } from "../storage/secrets/secrets.ts";
import {
  MAX_OVERLAP_DAYS,
  offeredEvents,
  type PartnerScope,
  type SecretContext,
} from "../webhooks/endpoints/endpoint-context.ts";
import { rotateSecret } from "../webhooks/endpoints/endpoint-secrets.ts";
import { pauseEndpoint, removeEndpoint, resumeEndpoint, setEndpoint } from "../webhooks/endpoints/endpoint-settings.ts";
import {
  type EndpointOverview,
  type EndpointView,
  listEndpointsWithStatus,
  showEndpoint,
  unreadableEvents,
} from "../webhooks/endpoints/endpoint-view.ts";
import { dropHeld, type HeldDeliveries, sendHeld, showHeld } from "../webhooks/endpoints/held.ts";
import { createSecretCipher } from "../webhooks/endpoints/secret.ts";
import type { AddressRules } from "../webhooks/rules/receiver-url.ts";
import { type CliContext, type OpenCli, type ParentCommand, runOnSystem, type SystemContext } from "./context.ts";
import { listOf, option, overlapOption, partnerOption, UsageError } from "./options.ts";
import { type Columns, type Result, table } from "./output.ts";
import { addressOfStart, rulesForTrying } from "./start.ts";
import { registerDeliveries } from "./webhook-deliveries.ts";

/** `webhooks`: a partner's endpoint; its deliveries are in webhook-deliveries.ts. */
export function registerWebhooks(program: ParentCommand, cli: OpenCli): void {
  const webhooks = program.command("webhooks").description("manage webhook endpoints and their deliveries");
  registerSet(webhooks, cli);
  webhooks
    .command("list")
    .description("list every partner's endpoint and its status")
    .action(() =>
      runOnSystem(cli(), async (context) => {
        const overview = await listEndpointsWithStatus(context, context.systemId);
        return {
          object: overview,
          table: table(overview.endpoints, endpointColumns, "No partner has an endpoint. `webhooks set` creates one."),
          notes: overview.endpoints.length === 0 ? [] : [`Sending: ${workersText(overview.workers)}`],
        };
      }),
    );
  webhooks
    .command("show")
    .description("show an endpoint and its status, without its secrets")
    .requiredOption(...partnerOption)
    .action(({ partner: partnerId }) =>
      runOnSystem(cli(), async (context) =>
        showView(context, await showEndpoint(context, { systemId: context.systemId, partnerId })),
      ),
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
    .description("create a partner's endpoint or change it; settings that you leave out stay")
    .requiredOption(...partnerOption)
    .option("--url <URL>", "the https URL that receives events by POST")
    .addOption(option("--events <a,b>", `events to send: ${offeredEvents.join(", ")}`, listOf(String)))
    .option("--email <address>", "mail address to notify when deliveries fail")
    .option("--no-email", "notify nobody")
    .addOption(option("--signature <scheme>", schemes, signatureFrom))
    .action(({ partner: partnerId, url, events, signature, ...given }) => {
      const email = given.email === false ? null : given.email;
      if (url === undefined && events === undefined && email === undefined && signature === undefined) {
        throw new UsageError("Give at least one of --url, --events, --email, --no-email and --signature.");
      }
      return runWithSecrets(cli(), { mayBeNew: false }, async (context) => {
        const { systemId } = context;
        const rules = await addressRules(context.config);
        const made = await setEndpoint({ ...context, rules }, { systemId, partnerId, url, events, email, signature });
        const { endpoint, outcome, secret, old_secrets_end_at } = made;
        const unreadable = await unreadableEvents(context, { systemId, partnerId }, endpoint.events);
        return {
          object: {
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
          notes: setNotes(context, made, unreadable),
        };
      });
    });
}

function setNotes(
  { systemOption }: SystemContext,
  { endpoint, outcome, secret, old_secrets_end_at: oldSecretsEndAt }: Awaited<ReturnType<typeof setEndpoint>>,
  unreadable: readonly string[],
): string[] {
  const program = `bikeshare ${systemOption}`;
  const command = (verb: string) => `\`${program}webhooks ${verb} --partner ${endpoint.partner_id}\``;
  return [
    secret === null ? "The secret is unchanged." : SHOWN_ONCE,
    ...(oldSecretsEndAt === null ? [] : ["Until then the old secrets sign Service-Signature too."]),
    ...unreadableNotes(unreadable),
    ...(endpoint.status === "paused" ? [`The endpoint stays paused: ${command("resume")} sends a probe.`] : []),
    ...(outcome === "created" ? [`${command("test")} sends an example.`] : []),
  ];
}

/** The rules of the process that sends: of a running `start`, otherwise of the configuration. */
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
      runOnSystem(cli(), async (context) => {
        const { systemId } = context;
        const { endpoint, changed } = await pauseEndpoint(context, { systemId, partnerId, reason: "operator" });
        const { id, status, pause_reason, paused_at } = endpoint;
        return {
          object: { id, status, pause_reason, paused_at, changed },
          notes: [
            `Events are held for up to ${EVENT_RETENTION_DAYS} days; \`bikeshare ${context.systemOption}webhooks resume --partner ${partnerId}\` sends again.`,
          ],
        };
      }),
    );
  webhooks
    .command("resume")
    .description("send to a paused endpoint again, beginning with one probe")
    .requiredOption(...partnerOption)
    .option("--send-held", "send held deliveries too, once the probe has succeeded")
    .action(({ partner: partnerId, sendHeld: sendsHeld = false }) =>
      runOnSystem(cli(), async (context) => {
        const { systemId } = context;
        const resumed = await resumeEndpoint(context, { systemId, partnerId, sendsHeld });
        const { endpoint, changed, probe, sent, held, held_since } = resumed;
        return {
          object: { id: endpoint.id, status: endpoint.status, changed, probe, sent, held, held_since },
          notes: [
            ...(changed && probe === null ? ["The next event is the probe."] : []),
            ...(sent === 0 ? [] : [`${sent} held deliveries are sent once the endpoint is active.`]),
            ...heldNotes(context, partnerId, held),
          ],
        };
      }),
    );
}

function registerRotate(webhooks: ParentCommand, cli: OpenCli): void {
  webhooks
    .command("rotate")
    .description("create a new secret; old ones sign beside it during the overlap")
    .requiredOption(...partnerOption)
    .addOption(overlapOption("how long both sign", MAX_OVERLAP_DAYS))
    .option("--lost-secrets", "end the old secrets now, because the secrets file that encrypted them is lost")
    .action(({ partner: partnerId, overlap, lostSecrets: lost = false }) =>
      runWithSecrets(cli(), { mayBeNew: lost }, async (context) => {
        const { systemId } = context;
        const rotated = await rotateSecret(context, { systemId, partnerId, overlap, lost });
        const { endpoint, secret, old_secrets_end_at } = rotated;
        return { object: { id: endpoint.id, secret, old_secrets_end_at }, notes: [SHOWN_ONCE] };
      }),
    );
}

const SHOWN_ONCE = "Copy the secret now: it cannot be shown again.";

function registerRemove(webhooks: ParentCommand, cli: OpenCli): void {
  webhooks
    .command("remove")
    .description("remove an endpoint and destroy its secrets; its log stays")
    .requiredOption(...partnerOption)
    .action(({ partner: partnerId }) =>
      runOnSystem(cli(), async (context) => {
        const { endpoint, changed, unsent } = await removeEndpoint(context, { systemId: context.systemId, partnerId });
        const { id, status, pause_reason, paused_at } = endpoint;
        const unsentNotes = [
          `${unsent} deliveries were not sent. To send them, create the endpoint again by \`webhooks set\` with --url and --events, then:`,
          `  bikeshare ${context.systemOption}webhooks replay --partner ${partnerId} --since ${EVENT_RETENTION_DAYS}d --status held`,
        ];
        return {
          object: { id, status, pause_reason, paused_at, changed, unsent },
          notes: [
            changed
              ? "Its secrets are destroyed. Attempts under way end; nothing else is sent."
              : "It was removed before.",
            `The log keeps each delivery for ${EVENT_RETENTION_DAYS} days; the audit log keeps the URLs.`,
            ...(unsent > 0 ? unsentNotes : []),
          ],
        };
      }),
    );
}

/** Runs a command on one system with the cipher of the deployment's secrets file, which may be new where `mayBeNew`. */
function runWithSecrets(
  cli: CliContext,
  { mayBeNew }: { readonly mayBeNew: boolean },
  command: (context: SystemContext & SecretContext) => Promise<Result>,
): Promise<void> {
  return runOnSystem(cli, async (context) => {
    const { webhookKeys } = await readSecrets(context, mayBeNew);
    try {
      return await command({ ...context, cipher: createSecretCipher(webhookKeys) });
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === "secrets_file_mismatch")) throw error;
      const path = secretsPath(context.config);
      throw commandError("secrets_file_mismatch", "usedBy", { message: error.message, path });
    }
  });
}

/** `webhooks send-held` and `drop-held`: deliveries that were held while an endpoint was paused. */
function registerHeld(webhooks: ParentCommand, cli: OpenCli): void {
  webhooks
    .command("send-held")
    .description("send held deliveries, after current events, once the endpoint is active")
    .requiredOption(...partnerOption)
    .action(({ partner: partnerId }) =>
      runOnSystem(cli(), async (context) => ({
        object: { sent: await sendHeld(context, { systemId: context.systemId, partnerId }) },
      })),
    );
  webhooks
    .command("drop-held")
    .description("drop held deliveries; each can be sent again while the log keeps it")
    .requiredOption(...partnerOption)
    .addOption(
      option(
        "--count <n>",
        "the number of held deliveries, which the command prints without this option",
        integer(1, Number.MAX_SAFE_INTEGER),
      ),
    )
    .action(({ partner: partnerId, count }) =>
      runOnSystem(cli(), async (context) => {
        const scope = { systemId: context.systemId, partnerId };
        const { total, until } = await showHeld(context, scope);
        const dropped = count === undefined ? 0 : await dropAll(context, scope, { total: count, until });
        const isAsked = count === undefined && total > 0;
        return {
          object: { dropped, held: total - dropped },
          notes: isAsked
            ? [
                `To drop them: bikeshare ${context.systemOption}webhooks drop-held --partner ${partnerId} --count ${total}`,
              ]
            : [],
        };
      }),
    );
}

/** Drops the counted deliveries, batch by batch. */
async function dropAll(context: ActorContext, scope: PartnerScope, seen: HeldDeliveries): Promise<number> {
  let dropped = 0;
  for (let total = seen.total; total > 0;) {
    const batch = await dropHeld(context, scope, { ...seen, total, isContinued: dropped > 0 });
    dropped += batch.dropped;
    total = batch.remaining;
  }
  return dropped;
}

const endpointColumns: Columns<EndpointOverview["endpoints"][number]> = {
  partner: "partner_id",
  name: "partner_name",
  url: "url",
  status: "status_text",
  "failing since": "failing_since",
  waiting: "pending",
  held: "held",
};

function showView(context: SystemContext, view: EndpointView): Result {
  const secrets = view.secrets.map(({ expires_at: end }) => (end === null ? "current" : `until ${end.toISOString()}`));
  return {
    object: view,
    facts: {
      endpoint: view.id,
      url: view.url,
      events: view.events,
      email: view.email,
      signature: view.signature === "both" ? "Service-Signature and Standard Webhooks" : "Service-Signature",
      status: view.status_text,
      sending: workersText(view.workers),
      secrets,
      "failing since": view.failing_since,
      failures: view.failures,
      waiting: view.pending,
      "first due": view.oldest_due,
      held: view.held,
      "held since": view.held_since,
    },
    table: view.replays.length === 0 ? undefined : table(view.replays, replayColumns, ""),
    notes: [
      ...unreadableNotes(view.unreadable_events),
      ...(view.url === null || view.is_replaying ? [] : heldNotes(context, view.partner_id, view.held)),
    ],
  };
}

const replayColumns: Columns<EndpointView["replays"][number]> = {
  replay: "id",
  since: "since",
  until: "until",
  deliveries: "total",
  queued: "queued",
  finished: "finished_at",
};

function workersText(workers: number): string {
  if (workers === 0) return "no process; start one with `serve`";
  return workers === 1 ? "1 process" : `${workers} processes`;
}

/** Returns how many deliveries are held, and how to send or drop them. */
export function heldNotes(
  { systemOption }: Pick<SystemContext, "systemOption">,
  partner: string,
  held: number,
): string[] {
  if (held === 0) return [];
  return [
    `${held} deliveries are held until you send or drop them:`,
    `  bikeshare ${systemOption}webhooks send-held --partner ${partner}   sends them once the endpoint is active`,
    `  bikeshare ${systemOption}webhooks drop-held --partner ${partner}   drops them`,
  ];
}

/** Warns when a partner gets events by webhook that none of its keys may read. */
function unreadableNotes(events: readonly string[]): string[] {
  if (events.length === 0) return [];
  return [
    `No key of this partner may read the data of these events: ${events.join(", ")}.`,
    "They are sent all the same. Leave them out with --events, or issue a key with the scope.",
  ];
}
