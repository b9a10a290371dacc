import type { DeliveryName } from "@bikeshare/contract";
import { createMemoryRateLimiter, serviceError } from "@bikeshare/rules";
import { createTestDelivery } from "@bikeshare/webhooks/testing";
import type { ActorContext } from "../command-context.ts";
import { insertActOf } from "../partners/audit/queries.ts";
import { type ProbeStep, stepsOf } from "./address-probe.rules.ts";
import { composeMessage } from "./dispatcher/attempt-runner.ts";
import { chooseEndpoint, type EndpointScope, isRemoved, requirePartner } from "./endpoints/endpoint-context.ts";
import { type EndpointRow, listEndpointsOf } from "./endpoints/endpoint-queries.ts";
import { decryptActiveSecrets } from "./endpoints/endpoint-secrets.ts";
import { createSecret, type SecretCipher } from "./endpoints/secret.ts";
import { TEST_SUFFIX } from "./queue/sql-fragments.ts";
import type { AttemptRequest, AttemptResult } from "./rules/after-attempt.ts";
import { type AddressRules, judgeUrl } from "./rules/receiver-url.ts";
import { createSender, type Sender, type SenderOptions } from "./sender/sender.ts";

/*
 * Sends a signed test request to an address that a person wants to set as a webhook URL, and reports its steps. This file
 * calls such a request a probe. It is no delivery; the probe of a resumed endpoint (docs/glossary.md#probe) is one.
 */

interface ProbeInput extends EndpointScope {
  /** The person who asks: each has a limit of probes per minute. */
  readonly personId: string;
  /** The URL as typed. */
  readonly url: string;
  readonly event: DeliveryName;
}

/** The result of one signed test request. */
export interface ProbedAddress {
  /** Whether the address may be set. */
  readonly isAllowed: boolean;
  readonly steps: readonly ProbeStep[];
  /** False: the partner has no endpoint yet, or has several and none was named. A random secret made the signature then. */
  readonly isSignedWithSecret: boolean;
  readonly body: string;
  readonly result: AttemptResult;
}

type ProbeContext = ActorContext & { readonly cipher: SecretCipher };

/** Sends test requests to addresses before they are set as webhook URLs. */
export interface AddressProber {
  /**
   * Sends one signed test request to an address, under all rules of a delivery: its addresses are judged, the limits of an
   * attempt hold, and no redirect is followed. Stores an audit entry about the request, and nothing else.
   * @throws ServiceError when there is no such partner or endpoint, or its secrets cannot be decrypted; `rate_limited`
   */
  probe(context: ProbeContext, input: ProbeInput): Promise<ProbedAddress>;
  /** Counts a test delivery as a probe, because it also calls an address on request. @throws ServiceError `rate_limited` */
  count(personId: string): void;
  /** Removes expired counts. */
  sweep(): void;
}

/**
 * Limit of one person's test requests in any 60 s. Trying out an address takes a few. Too high: a person could scan the
 * network through us.
 */
const PROBES_PER_PERSON = 6;
/**
 * Limit of all people's test requests to one process in any 60 s. Each holds a socket for 15 s at most, so about 15 are open
 * on average at this limit.
 */
const PROBES_PER_PROCESS = 60;

/** @param options those of the sender of each probe, and the clock of the limits */
export function createAddressProber(
  options: Pick<SenderOptions, "rules" | "limits" | "resolve" | "tls"> & {
    /** Milliseconds of a monotonic clock. */
    readonly monotonic: () => number;
    readonly userAgent: string;
  },
): AddressProber {
  const { monotonic, rules, userAgent } = options;
  const limiter = createMemoryRateLimiter(monotonic);
  const take = (key: string, limit: number) => {
    const { allowed, resetSeconds } = limiter.take(key, limit);
    if (!allowed) throw serviceError("rate_limited", "probes", { limit, retryAfterSeconds: resetSeconds });
  };
  const count = (personId: string) => {
    take(personId, PROBES_PER_PERSON);
    take("all", PROBES_PER_PROCESS);
  };
  return {
    count,
    sweep: () => limiter.sweep(),
    async probe(context, input) {
      await requirePartner(context, input);
      count(input.personId);
      const { headers, body, isSignedWithSecret } = await compose(context, input, userAgent);
      // Creates a sender for each probe, so that it uses a new connection: it resolves, connects and shakes hands.
      const sender = createSender(options);
      const result = await sendOnce(sender, { url: input.url, headers, body });
      await recordProbe(context, input, rules, result);
      const isAllowed = judgeUrl(input.url, rules).ok;
      return { isAllowed, steps: stepsOf(input.url, result), isSignedWithSecret, body, result };
    },
  };
}

async function sendOnce(sender: Sender, request: AttemptRequest): Promise<AttemptResult> {
  try {
    return await sender.send(request);
  } finally {
    await sender.close();
  }
}

/** Composes a test delivery for the address, signed as the endpoint's deliveries are. */
async function compose(context: ProbeContext, { event, ...scope }: ProbeInput, userAgent: string) {
  const { db, ids, clock } = context;
  const rows = await listEndpointsOf(db, scope.systemId, scope.partnerId);
  const existing = rows.filter((row) => !isRemoved(row));
  // A partner with several endpoints may try an address for a new one: the probe belongs to no endpoint then.
  const endpoint = scope.endpointRef === undefined && existing.length > 1 ? undefined : chooseEndpoint(existing, scope);
  const sentAt = clock();
  const eventId = ids.next("event");
  const row = {
    event,
    delivery_id: `delivery_${eventId.slice(eventId.indexOf("_") + 1)}${TEST_SUFFIX}`,
    occurred_at: new Date(sentAt),
    data: JSON.stringify(createTestDelivery({ event }).data),
  };
  const secrets = await signingSecrets(context, scope.systemId, endpoint);
  const signature = endpoint?.signature ?? "service";
  const message = composeMessage({ row, sentAt, secrets, signature }, userAgent);
  return { ...message, isSignedWithSecret: endpoint !== undefined };
}

/** Returns the endpoint's active secrets; without an endpoint, a random secret that is not stored. */
async function signingSecrets(context: ProbeContext, systemId: string, endpoint: EndpointRow | undefined) {
  if (endpoint !== undefined) return decryptActiveSecrets(context, systemId, endpoint.id);
  return [{ text: createSecret((bytes) => context.ids.randomBytes(bytes)), expiresAt: null }];
}

/** Records the probe in the audit log, because a person made the service call an address of their choice. */
async function recordProbe(
  context: ProbeContext,
  { systemId, partnerId, url }: ProbeInput,
  rules: AddressRules,
  { outcome, status, failure }: AttemptResult,
): Promise<void> {
  const verdict = judgeUrl(url, rules);
  // Leaves out an invalid URL, because it may contain anything, such as a password.
  const shown = verdict.ok ? verdict.url.href : null;
  const detail = { url: shown, outcome, status, failure };
  await insertActOf(context, context.db, { systemId, action: "webhook.probed", subject: partnerId, detail });
}
