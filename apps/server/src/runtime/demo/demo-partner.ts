import { once } from "node:events";
import { createServer } from "node:http";
import { scopeNames } from "@bikeshare/contract";
import type { Delivery } from "@bikeshare/webhooks";
import { createReceiver, type ReceiverOptions } from "@bikeshare/webhooks/express";
import type { ActorContext } from "../../command-context.ts";
import { invite } from "../../console/people/invitations.ts";
import { invitationUrl } from "../../console/people/people.rules.ts";
import { keyFor } from "../../partners/keys/look-ups.ts";
import { issueKey, removeKey } from "../../partners/keys/service.ts";
import { createPartner, type PartnerRow, partnersOf } from "../../partners/service.ts";

/* What `start` and `simulate` need besides a city: a sample receiver, a partner, API keys, and sign-in links. */

/** An example of a partner's webhook receiver, on this machine's loopback address. */
export interface SampleReceiver {
  /** The address of the receiver; the port differs at each start. */
  readonly url: string;
  /** Starts accepting deliveries signed with these secrets; before that it answers 503. */
  expect(secrets: readonly string[], options: Pick<ReceiverOptions, "onError">): void;
  close(): Promise<void>;
}

const PATH = "/sample-receiver";

/** Tells whether a URL is that of a sample receiver, perhaps of an earlier start. */
export function isSampleReceiver(url: string): boolean {
  const { hostname, pathname } = new URL(url);
  return hostname === "127.0.0.1" && pathname === PATH;
}

/** Starts a sample receiver. @param onDelivery called with each verified delivery */
export async function startSampleReceiver(onDelivery: (delivery: Delivery) => void): Promise<SampleReceiver> {
  let receive: ReturnType<typeof createReceiver> | undefined;
  const server = createServer((request, response) => {
    if (receive === undefined) response.writeHead(503).end();
    else receive(request, response, () => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the sample receiver has no port");
  return {
    url: `http://127.0.0.1:${address.port}${PATH}`,
    expect(secrets, options) {
      receive = createReceiver({ ...options, secrets, onDelivery });
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** The context of the demo's keys: an actor, and the system that the keys belong to. */
export interface DemoKeyContext extends ActorContext {
  readonly systemId: string;
}

/** The name by which `demoPartner` recognizes keys of `issueDemoKey`. */
const DEMO_KEY_NAME = "made by start";

/** Creates the demo's partner, unless it exists, and a key with every scope. The key can be read only from the result. */
export async function issueDemoKey(
  context: DemoKeyContext,
): Promise<{ readonly key: string; readonly partnerId: string }> {
  const { systemId } = context;
  const { id: partnerId } = await partnerNamed(context, "Demo partner");
  const { key } = await issueKey(context, { systemId, partnerId, scopes: scopeNames, name: DEMO_KEY_NAME });
  return { key, partnerId };
}

/**
 * Tells whether a system has the demo's data: returns the partner of `key` if `issueDemoKey` issued that key for this system,
 * and undefined for any other key.
 */
export async function demoPartner(
  context: Pick<DemoKeyContext, "db" | "systemId">,
  key: string,
): Promise<string | undefined> {
  const row = await keyFor(context, key);
  const isDemoKey = row?.system_id === context.systemId && row.name === DEMO_KEY_NAME;
  return isDemoKey ? (row.partner_id ?? undefined) : undefined;
}

/** The keys with which a simulation calls a service of this machine. */
export interface SimulatorKeys {
  readonly operatorKey: string;
  /** Reads stations, bikes and rides. */
  readonly partnerKey: string;
  /** Removes both keys, also from `keys list`. */
  remove(): Promise<void>;
}

/** Lifetime of the keys, so that those of a killed run expire. No simulation runs longer. */
const KEY_LIFETIME_MS = 7 * 24 * 3_600_000;
/** Requests in any 60 s. High, because the key reads the whole city at once, page after page. */
const READER_RATE_LIMIT = 6000;

/** Issues the keys of one run. */
export async function createSimulatorKeys(given: DemoKeyContext): Promise<SimulatorKeys> {
  const context = { ...given, actor: "simulator" };
  const { systemId, clock } = context;
  const { id: partnerId } = await partnerNamed(context, "Simulator");
  const common = { systemId, name: "made by the simulator", expiresAt: new Date(clock() + KEY_LIFETIME_MS) };
  const operator = await issueKey(context, { ...common, partnerId: null, scopes: [] });
  const scopes = ["stations:read", "bikes:read", "rides:read"] as const;
  const reader = await issueKey(context, { ...common, partnerId, scopes, rateLimit: READER_RATE_LIMIT });
  return {
    operatorKey: operator.key,
    partnerKey: reader.key,
    remove: async () => {
      for (const { id } of [operator, reader]) await removeKey(context, systemId, id);
    },
  };
}

/** Returns the partner of a name, or creates it. */
async function partnerNamed(context: DemoKeyContext, name: string): Promise<PartnerRow> {
  const partners = await partnersOf(context, context.systemId);
  const known = partners.find((partner) => partner.name === name && partner.removed_at === null);
  return known ?? createPartner(context, context.systemId, name);
}

/** Links by which the demo's two people sign in to the dashboard. Each works once. */
export interface SignInLinks {
  readonly operator: string;
  readonly partner: string;
}

/** Invites the demo's two people, of the operator and of its partner, to the dashboard at a base address. */
export async function inviteToDemo(
  context: ActorContext & { readonly systemId: string; readonly partnerId: string },
  baseUrl: string,
): Promise<SignInLinks> {
  const { systemId, partnerId } = context;
  const link = async (of: string | null, email: string) => {
    // The operator hands out these links, so opening one proves the person's address.
    const { token } = await invite(context, { systemId, partnerId: of, email, role: "admin", proves: "operator" });
    return invitationUrl(baseUrl, token);
  };
  return {
    operator: await link(null, "operator@demo.example"),
    partner: await link(partnerId, "partner@demo.example"),
  };
}
