import { type ConsoleClient, createClient } from "../../src/api/client.ts";
import { acceptInvitation, invite, type Visited, type World } from "./world.ts";

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

/** The least milliseconds for which a confirmation must remain valid, so that a few requests can still use it. */
const CONFIRMED_MS = 60_000;

/** Returns a client for an admin of the operator who has just confirmed their identity. */
export function callAsOperator(world: World): Promise<ConsoleClient> {
  return callConfirmed(world, "operator admin", ["--operator"]);
}

/** Returns a client for an admin of the world's partner who has just confirmed their identity. */
export function callAsPartner(world: World): Promise<ConsoleClient> {
  return callConfirmed(world, "partner admin", ["--partner", world.partnerId, "--role", "admin"]);
}

/**
 * Uses the session of the world while its confirmation is valid. If the tests have taken longer than that, invites a new
 * person, whose session is new.
 */
async function callConfirmed(world: World, visitor: Visited, into: readonly string[]): Promise<ConsoleClient> {
  const client = await callAs(world.cookies[visitor], world.url);
  const { confirmed_until: until } = await client.session.get();
  if (until !== null && Date.parse(until) > Date.now() + CONFIRMED_MS) return client;
  const link = await invite(world.dataDir, into);
  return callAs(await acceptInvitation(world.url, link, "Colleague"), world.url);
}
