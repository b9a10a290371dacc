import { type ConsoleClient, createClient } from "../../src/api/client.ts";
import { acceptInvitation, invite, type Visited, type World } from "./world.ts";

/** The console's endpoints, called as the one whose session a cookie is. */
export async function callAs(cookie: string, url: string): Promise<ConsoleClient> {
  const known: { csrfToken?: string } = {};
  const client = createClient({
    csrfToken: () => known.csrfToken,
    onSignedOut() {},
    onReached() {},
    fetch: (path, init) =>
      fetch(new URL(path as string, url), {
        ...init,
        headers: { ...(init?.headers as Record<string, string>), cookie, origin: new URL(url).origin },
      }),
  });
  known.csrfToken = (await client.session.get()).csrf_token;
  return client;
}

/** Left of a confirmation that a few requests still need. */
const CONFIRMED_MS = 60_000;

/** The console as an admin of the operator who has just confirmed who they are. */
export function callAsOperator(world: World): Promise<ConsoleClient> {
  return callConfirmed(world, "operator admin", ["--operator"]);
}

/** The console as an admin of the world's partner who has just confirmed who they are. */
export function callAsPartner(world: World): Promise<ConsoleClient> {
  return callConfirmed(world, "partner admin", ["--partner", world.partnerId, "--role", "admin"]);
}

/** A session of the world is older than a confirmation lasts, once its tests take long: then somebody else is invited. */
async function callConfirmed(world: World, visitor: Visited, into: readonly string[]): Promise<ConsoleClient> {
  const client = await callAs(world.cookies[visitor], world.url);
  const { confirmed_until: until } = await client.session.get();
  if (until !== null && Date.parse(until) > Date.now() + CONFIRMED_MS) return client;
  const link = await invite(world.dataDir, into);
  return callAs(await acceptInvitation(world.url, link, "Colleague"), world.url);
}
