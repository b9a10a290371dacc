import { type ConsoleClient, createClient } from "../../src/api/client.ts";
import { acceptInvitation, signInInviter, type World } from "./world.ts";

/** Returns a client of the dashboard's endpoints that uses the session of a cookie. */
export async function callAs(cookie: string, url: string): Promise<ConsoleClient> {
  const known: { csrfToken?: string } = {};
  const client = createClient({
    csrfToken: () => known.csrfToken,
    onSignedOut() {},
    onReached() {},
    onUnavailable() {},
    fetch: (path, init) =>
      fetch(new URL(path as string, url), {
        ...init,
        headers: { ...(init?.headers as Record<string, string>), cookie, origin: new URL(url).origin },
      }),
  });
  known.csrfToken = (await client.session.get()).csrf_token;
  return client;
}

/**
 * How often `expect.poll` calls the API. Too often: on a slow machine, a long poll uses up the requests that a person may
 * make in a minute.
 */
export const API_POLL = { interval: 250 };

/** The kinds of people: of the partner and of the operator, each as admin and viewer. */
const VISITORS = {
  "partner admin": { audience: "partner", role: "admin" },
  "partner viewer": { audience: "partner", role: "viewer" },
  "operator admin": { audience: "operator", role: "admin" },
  "operator viewer": { audience: "operator", role: "viewer" },
} as const;
export type Visited = keyof typeof VISITORS;
export type Role = (typeof VISITORS)[Visited]["role"];

/**
 * How many tests use a session. Too low: invites more people. Too high: on a fast machine, tests use up the requests that a
 * person may make in a minute.
 */
const MAX_USES = 10;
/** The sessions that tests share, by the kind of person. */
const shared = new Map<Visited, { readonly cookie: string; uses: number }>();

/** Returns the session cookie of a person, whom some tests share: `name=value`. No test may end the session. */
export async function sharedCookie(world: World, visitor: Visited): Promise<string> {
  const known = shared.get(visitor);
  const session =
    known !== undefined && known.uses < MAX_USES ? known : { cookie: await signIn(world, visitor), uses: 0 };
  session.uses += 1;
  shared.set(visitor, session);
  return session.cookie;
}

async function signIn(world: World, visitor: Visited): Promise<string> {
  const { audience, role } = VISITORS[visitor];
  const link = await inviteAsOperator(world, role, audience === "partner" ? world.partnerId : null);
  const name = visitor.replace(/^./, (letter) => letter.toUpperCase());
  return acceptInvitation(world.url, link, name);
}

let invitedCount = 0;

/** Invites a new person to a partner, or to the operator if `partnerId` is null. @returns the link */
export async function inviteAsOperator(world: World, role: Role, partnerId: string | null): Promise<string> {
  invitedCount += 1;
  const email = `invited-${invitedCount}-${process.pid}@example.com`;
  const inviter = await callAsInviter(world);
  const params = { system_id: world.systemId };
  const { url } = await inviter.operatorPeople.invite({ params, body: { email, role, partner_id: partnerId } });
  return url ?? "";
}

/** The inviter's session, if the confirmation of the world's inviter is too old. */
let laterInviter: string | undefined;

async function callAsInviter(world: World): Promise<ConsoleClient> {
  const client = await callAs(laterInviter ?? world.inviter, world.url);
  if (await isConfirmed(client)) return client;
  laterInviter = await signInInviter(world.url, world.dataDir);
  return callAs(laterInviter, world.url);
}

/** Returns a client for an admin of the operator who has just confirmed their identity. */
export function callAsOperator(world: World): Promise<ConsoleClient> {
  return callConfirmed(world, "operator admin");
}

/** Returns a client for an admin of the world's partner who has just confirmed their identity. */
export function callAsPartner(world: World): Promise<ConsoleClient> {
  return callConfirmed(world, "partner admin");
}

async function callConfirmed(world: World, visitor: Visited): Promise<ConsoleClient> {
  const client = await callAs(await sharedCookie(world, visitor), world.url);
  if (await isConfirmed(client)) return client;
  // The next person's session is new.
  shared.delete(visitor);
  return callAs(await sharedCookie(world, visitor), world.url);
}

/** The least milliseconds for which a confirmation must remain valid, so that a few requests can still use it. */
const CONFIRMED_MS = 60_000;

async function isConfirmed(client: ConsoleClient): Promise<boolean> {
  const { confirmed_until: until } = await client.session.get();
  return until !== null && Date.parse(until) > Date.now() + CONFIRMED_MS;
}
