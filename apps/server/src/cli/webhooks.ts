import { EVENT_RETENTION_DAYS } from "@bikeshare/contract";
import { ServiceError } from "@bikeshare/rules";
import type { ActorContext } from "../command-context.ts";
import { commandError } from "../command-errors.ts";
import type { Config } from "../config.ts";
import { readSecrets } from "../runtime/startup/service-secrets.ts";
import { integer, oneOf } from "../runtime/startup/values.ts";
import { secretsPath } from "../storage/secrets/secrets.ts";
import {
  type EndpointScope,
  MAX_ENDPOINTS,
  MAX_OVERLAP_DAYS,
  type SecretContext,
} from "../webhooks/endpoints/endpoint-context.ts";
import { placesOf } from "../webhooks/endpoints/endpoint-places.ts";
import { removeEndpoint } from "../webhooks/endpoints/endpoint-removal.ts";
import { rotateSecret } from "../webhooks/endpoints/endpoint-secrets.ts";
import {
  addEndpoint,
  pauseEndpoint,
  resumeEndpoint,
  type SetEndpoint,
  setEndpoint,
} from "../webhooks/endpoints/endpoint-settings.ts";
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
import {
  endpointOption,
  endpointWords,
  listOf,
  option,
  overlapOption,
  partnerOption,
  plainName,
  UsageError,
} from "./options.ts";
import { type Columns, type Result, table } from "./output.ts";
import { addressOfStart, rulesForTrying } from "./start.ts";
import { registerDeliveries } from "./webhook-deliveries.ts";
import {
  BBOX,
  conditionsFrom,
  EVENTS,
  maxPerHourOption,
  NO_MAX_PER_HOUR,
  NO_THRESHOLDS,
  placesFrom,
  placesText,
  regionsOption,
  registerPreview,
  stationsOption,
  thresholdsOption,
  thresholdTexts,
} from "./webhook-places.ts";

/**
 * Registers `webhooks`. The commands for endpoints are in this file (`preview` in webhook-places.ts), those for deliveries
 * in webhook-deliveries.ts.
 */
export function registerWebhooks(program: ParentCommand, cli: OpenCli): void {
  const webhooks = program.command("webhooks").description("manage webhook endpoints and their deliveries");
  registerAdd(webhooks, cli);
  registerSet(webhooks, cli);
  registerPreview(webhooks, cli);
  webhooks
    .command("list")
    .description("list every partner's endpoints and their status")
    .option("--partner <id>", "only this partner's endpoints")
    .action(({ partner: partnerId }) =>
      runOnSystem(cli(), async (context) => {
        const overview = await listEndpointsWithStatus(context, context.systemId, { partnerId });
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
    .option(...endpointOption)
    .action(({ partner: partnerId, endpoint: endpointRef }) =>
      runOnSystem(cli(), async (context) =>
        showView(
          context,
          await showEndpoint(context, { systemId: context.systemId, partnerId, endpointRef }),
          endpointRef,
        ),
      ),
    );
  registerPauseAndResume(webhooks, cli);
  registerHeld(webhooks, cli);
  registerRotate(webhooks, cli);
  registerRemove(webhooks, cli);
  registerDeliveries(webhooks, cli);
}

const NAME = "the endpoint's name, such as staging";
const URL_OPTION = ["--url <URL>", "the https URL that receives events by POST"] as const;
const EMAIL = ["--email <address>", "mail address to notify when deliveries fail"] as const;
const SCHEMES = "service, or both: Standard Webhooks headers beside Service-Signature";

function registerAdd(webhooks: ParentCommand, cli: OpenCli): void {
  webhooks
    .command("add")
    .description(`add an endpoint to a partner, which may have ${MAX_ENDPOINTS}`)
    .requiredOption(...partnerOption)
    .addOption(option("--name <name>", NAME, plainName).makeOptionMandatory())
    .requiredOption(...URL_OPTION)
    .addOption(option("--events <a,b>", EVENTS, listOf(String)).makeOptionMandatory())
    .addOption(stationsOption())
    .addOption(regionsOption())
    .option(...BBOX)
    .addOption(thresholdsOption())
    .addOption(maxPerHourOption())
    .option(...EMAIL)
    .addOption(option("--signature <scheme>", SCHEMES, signatureFrom))
    .action(({ partner: partnerId, stations, regions, bbox, thresholds, maxPerHour, ...given }) =>
      runWithSecrets(cli(), { mayBeNew: false }, async (context) => {
        const rules = await addressRules(context.config);
        const conditions = conditionsFrom({ thresholds, maxPerHour });
        const settings = { ...given, ...conditions, places: placesFrom({ stations, regions, bbox }) };
        const made = await addEndpoint({ ...context, rules }, { systemId: context.systemId, partnerId, ...settings });
        return setResult(context, made, ` --endpoint ${made.endpoint.id}`);
      }),
    );
}

function registerSet(webhooks: ParentCommand, cli: OpenCli): void {
  webhooks
    .command("set")
    .description("create a partner's first endpoint or change one; settings that you leave out stay")
    .requiredOption(...partnerOption)
    .option(...endpointOption)
    .addOption(option("--name <name>", NAME, plainName))
    .option(...URL_OPTION)
    .addOption(option("--events <a,b>", EVENTS, listOf(String)))
    .addOption(stationsOption())
    .addOption(regionsOption())
    .option(...BBOX)
    .option("--everywhere", "send events of any place again")
    .addOption(thresholdsOption())
    .option(...NO_THRESHOLDS)
    .addOption(maxPerHourOption())
    .option(...NO_MAX_PER_HOUR)
    .option(...EMAIL)
    .option("--no-email", "notify nobody")
    .addOption(option("--signature <scheme>", SCHEMES, signatureFrom))
    .action(({ partner: partnerId, endpoint: endpointRef, thresholds, maxPerHour, ...others }) => {
      const { stations, regions, bbox, everywhere, ...given } = others;
      const email = given.email === false ? null : given.email;
      const conditions = conditionsFrom({ thresholds, maxPerHour });
      const settings = { ...given, ...conditions, email, places: placesFrom({ stations, regions, bbox, everywhere }) };
      if (Object.values(settings).every((value) => value === undefined)) {
        throw new UsageError("Give at least one setting, such as --name, --url, --events, --stations or --email.");
      }
      return runWithSecrets(cli(), { mayBeNew: false }, async (context) => {
        const rules = await addressRules(context.config);
        const scope = { systemId: context.systemId, partnerId, endpointRef };
        const made = await setEndpoint({ ...context, rules }, { ...scope, ...settings });
        return setResult(context, made, endpointWords(endpointRef));
      });
    });
}

/**
 * Returns the result of `webhooks add` and `webhooks set`.
 * @param which the option that names the endpoint in suggested commands; empty: the user's command named none
 */
async function setResult(context: SystemContext, made: SetEndpoint, which: string): Promise<Result> {
  const { id, partner_id: partnerId, name, url, events, max_per_hour, email, signature, status } = made.endpoint;
  const places = placesOf(made.endpoint);
  const { outcome, thresholds, secret, old_secrets_end_at } = made;
  const unreadable = await unreadableEvents(context, { systemId: context.systemId, partnerId }, events);
  const object = {
    id,
    partner_id: partnerId,
    name,
    url,
    events,
    unreadable_events: unreadable,
    places,
    thresholds,
    max_per_hour,
    email,
    signature,
    secret,
    old_secrets_end_at,
    status,
    outcome,
  };
  return {
    object,
    facts: { ...object, places: placesText(places), thresholds: thresholdTexts(thresholds) },
    notes: setNotes(context, made, unreadable, which),
  };
}

function setNotes(
  { systemOption }: SystemContext,
  { endpoint, outcome, secret, old_secrets_end_at: oldSecretsEndAt }: SetEndpoint,
  unreadable: readonly string[],
  which: string,
): string[] {
  const program = `bikeshare ${systemOption}`;
  const command = (verb: string) => `\`${program}webhooks ${verb} --partner ${endpoint.partner_id}${which}\``;
  return [
    secret === null ? "The secret is unchanged." : SECRET_NOTE,
    ...(oldSecretsEndAt === null ? [] : ["Until then the old secrets sign Service-Signature too."]),
    ...unreadableNotes(unreadable),
    ...(endpoint.status === "paused" ? [`The endpoint stays paused: ${command("resume")} sends a probe.`] : []),
    ...(outcome === "created" ? [`${command("test")} sends an example.`] : []),
  ];
}

/** Returns the address rules of the process that sends: those of a running `start`, otherwise the configuration's. */
async function addressRules(config: Config): Promise<AddressRules> {
  return (await addressOfStart(config)) === undefined ? config.webhooks : rulesForTrying(config.webhooks);
}

/**
 * Reads --signature. `standard` means `both`, because the specification requires Service-Signature on every delivery.
 */
function signatureFrom(text: string): "service" | "both" {
  return oneOf(["service", "both", "standard"])(text) === "service" ? "service" : "both";
}

/** Registers `webhooks pause` and `resume`. A resume first sends one delivery, as a probe of the endpoint. */
function registerPauseAndResume(webhooks: ParentCommand, cli: OpenCli): void {
  webhooks
    .command("pause")
    .description(`hold events from now on, for up to ${EVENT_RETENTION_DAYS} days`)
    .requiredOption(...partnerOption)
    .option(...endpointOption)
    .action(({ partner: partnerId, endpoint: endpointRef }) =>
      runOnSystem(cli(), async (context) => {
        const { systemId } = context;
        const paused = await pauseEndpoint(context, { systemId, partnerId, endpointRef, reason: "operator" });
        const { changed } = paused;
        const { id, status, pause_reason, paused_at } = paused.endpoint;
        return {
          object: { id, status, pause_reason, paused_at, changed },
          notes: [
            `Events are held for up to ${EVENT_RETENTION_DAYS} days; \`bikeshare ${context.systemOption}webhooks resume --partner ${partnerId}${endpointWords(endpointRef)}\` sends again.`,
          ],
        };
      }),
    );
  webhooks
    .command("resume")
    .description("send to a paused endpoint again, beginning with one probe")
    .requiredOption(...partnerOption)
    .option(...endpointOption)
    .option("--send-held", "send held deliveries too, once the probe has succeeded")
    .action(({ partner: partnerId, endpoint: endpointRef, sendHeld: sendsHeld = false }) =>
      runOnSystem(cli(), async (context) => {
        const { systemId } = context;
        const resumed = await resumeEndpoint(context, { systemId, partnerId, endpointRef, sendsHeld });
        const { changed, probe, sent, held, held_since } = resumed;
        const { id, status } = resumed.endpoint;
        return {
          object: { id, status, changed, probe, sent, held, held_since },
          notes: [
            ...(changed && probe === null ? ["The next event is the probe."] : []),
            ...(sent === 0 ? [] : [`${sent} held deliveries are sent once the endpoint is active.`]),
            ...heldNotes(context, partnerId, held, endpointRef),
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
    .option(...endpointOption)
    .addOption(overlapOption("how long both sign", MAX_OVERLAP_DAYS))
    .option("--lost-secrets", "end the old secrets now, because the secrets file that encrypted them is lost")
    .action(({ partner: partnerId, endpoint: endpointRef, overlap, lostSecrets: lost = false }) =>
      runWithSecrets(cli(), { mayBeNew: lost }, async (context) => {
        const { systemId } = context;
        const rotated = await rotateSecret(context, { systemId, partnerId, endpointRef, overlap, lost });
        const { secret, old_secrets_end_at } = rotated;
        return { object: { id: rotated.endpoint.id, secret, old_secrets_end_at }, notes: [SECRET_NOTE] };
      }),
    );
}

const SECRET_NOTE = "Copy the secret now: from now on only the dashboard shows it.";

function registerRemove(webhooks: ParentCommand, cli: OpenCli): void {
  webhooks
    .command("remove")
    .description("remove an endpoint and destroy its secrets; its log stays")
    .requiredOption(...partnerOption)
    .option(...endpointOption)
    .action(({ partner: partnerId, endpoint: endpointRef }) =>
      runOnSystem(cli(), async (context) => {
        const removed = await removeEndpoint(context, { systemId: context.systemId, partnerId, endpointRef });
        const { changed, unsent } = removed;
        const { id, status, pause_reason, paused_at } = removed.endpoint;
        const unsentNotes = [
          `${unsent} deliveries were not sent. To send them, create the endpoint again by \`webhooks set\` with --url and --events, then:`,
          `  bikeshare ${context.systemOption}webhooks replay --partner ${partnerId}${endpointWords(endpointRef)} --since ${EVENT_RETENTION_DAYS}d --status held`,
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

/**
 * Runs a command on one system with the keys of the deployment's secrets file, which encrypt webhook secrets.
 * @param mayBeNew whether to make a new file if the one that the database was used with is missing
 */
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

/** Registers `webhooks send-held` and `drop-held`, for deliveries that were held while an endpoint was paused. */
function registerHeld(webhooks: ParentCommand, cli: OpenCli): void {
  webhooks
    .command("send-held")
    .description("send held deliveries, after current events, once the endpoint is active")
    .requiredOption(...partnerOption)
    .option(...endpointOption)
    .action(({ partner: partnerId, endpoint: endpointRef }) =>
      runOnSystem(cli(), async (context) => ({
        object: { sent: await sendHeld(context, { systemId: context.systemId, partnerId, endpointRef }) },
      })),
    );
  webhooks
    .command("drop-held")
    .description("drop held deliveries; each can be sent again while the log keeps it")
    .requiredOption(...partnerOption)
    .option(...endpointOption)
    .addOption(
      option(
        "--count <n>",
        "the number of held deliveries, which the command prints without this option",
        integer(1, Number.MAX_SAFE_INTEGER),
      ),
    )
    .action(({ partner: partnerId, endpoint: endpointRef, count }) =>
      runOnSystem(cli(), async (context) => {
        const scope = { systemId: context.systemId, partnerId, endpointRef };
        const { total, until } = await showHeld(context, scope);
        const dropped = count === undefined ? 0 : await dropAll(context, scope, { total: count, until });
        const needsCount = count === undefined && total > 0;
        return {
          object: { dropped, held: total - dropped },
          notes: needsCount
            ? [
                `To drop them: bikeshare ${context.systemOption}webhooks drop-held --partner ${partnerId}${endpointWords(endpointRef)} --count ${total}`,
              ]
            : [],
        };
      }),
    );
}

/**
 * Drops held deliveries, batch by batch. Drops none if more are held than `seen.total`.
 * @param seen `total`: the number that the user has given; `until`: deliveries held later are neither counted nor
 * dropped
 * @returns how many were dropped
 */
async function dropAll(context: ActorContext, scope: EndpointScope, seen: HeldDeliveries): Promise<number> {
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
  endpoint: "name",
  url: "url",
  status: "status_text",
  "failing since": "failing_since",
  waiting: "pending",
  held: "held",
};

function showView(context: SystemContext, view: EndpointView, endpointRef: string | undefined): Result {
  const secrets = view.secrets.map(({ expires_at: end }) => (end === null ? "current" : `until ${end.toISOString()}`));
  return {
    object: view,
    facts: {
      endpoint: view.id,
      name: view.name,
      url: view.url,
      events: view.events,
      places: placesText(view.places),
      thresholds: thresholdTexts(view.thresholds),
      "most in an hour": perHourText(view),
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
      // No commands for a removed endpoint (it has no URL), or while a replay is still sending held deliveries.
      ...(view.url === null || view.is_replaying ? [] : heldNotes(context, view.partner_id, view.held, endpointRef)),
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

function perHourText({ max_per_hour: most, this_hour: hour }: EndpointView): string | null {
  if (most === null) return null;
  return hour === null ? `${most}` : `${most}; in this hour ${hour.sent} sent, ${hour.skipped} skipped`;
}

function workersText(workers: number): string {
  if (workers === 0) return "no process; start one with `serve`";
  return workers === 1 ? "1 process" : `${workers} processes`;
}

/** Returns notes about held deliveries: how many there are, and how to send or drop them. Empty if there are none. */
export function heldNotes(
  { systemOption }: Pick<SystemContext, "systemOption">,
  partner: string,
  held: number,
  endpointRef?: string,
): string[] {
  if (held === 0) return [];
  const which = `--partner ${partner}${endpointWords(endpointRef)}`;
  return [
    `${held} deliveries are held until you send or drop them:`,
    `  bikeshare ${systemOption}webhooks send-held ${which}   sends them once the endpoint is active`,
    `  bikeshare ${systemOption}webhooks drop-held ${which}   drops them`,
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
