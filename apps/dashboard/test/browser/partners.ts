import { callAsOperator } from "./console-client.ts";
import { acceptInvitation, type World } from "./world.ts";

/** A partner of a test's own. */
export interface TestPartner {
  readonly id: string;
  /** How the console's paths name it. */
  readonly params: { readonly system_id: string; readonly partner_id: string };
  /** The link of a new invitation. */
  invite(role: Role): Promise<string>;
  /** The session cookie of somebody new. */
  signIn(role: Role): Promise<string>;
}

type Role = "admin" | "viewer";

let invitedCount = 0;

/** Invites somebody new to a partner, or with null to the operator. @returns the link */
export async function inviteAsOperator(world: World, role: Role, partnerId: string | null): Promise<string> {
  invitedCount += 1;
  const email = `invited-${invitedCount}-${process.pid}@example.com`;
  const operator = await callAsOperator(world);
  const params = { system_id: world.systemId };
  const { url } = await operator.operatorPeople.invite({ params, body: { email, role, partner_id: partnerId } });
  return url ?? "";
}

/** Adds a partner with a key, without which it may subscribe to no event. */
export async function createPartner(world: World, name: string): Promise<TestPartner> {
  const params = { system_id: world.systemId };
  const operator = await callAsOperator(world);
  const { id } = await operator.partners.create({ params, body: { name, max_reservations: null } });
  const scopes = ["stations:read", "rides:read"] as const;
  await operator.systemKeys.issue({
    params,
    body: { partner_id: id, scopes: [...scopes], name: "Timetable", expires_at: null, rate_limit: null },
  });
  const invite = (role: Role) => inviteAsOperator(world, role, id);
  return {
    id,
    params: { ...params, partner_id: id },
    invite,
    signIn: async (role) => acceptInvitation(world.url, await invite(role), "Grace Hopper"),
  };
}

/** Takes stations offline, and brings them back: an event of each kind for each of them. */
export async function closeStations(world: World, ...ids: readonly string[]): Promise<void> {
  for (const state of ["offline", "online"]) {
    const response = await fetch(`${world.url}/operator/v1/stations/${state}`, {
      method: "POST",
      headers: { authorization: `Bearer ${world.operatorKey}`, "content-type": "application/json" },
      body: JSON.stringify({ items: ids.map((id) => ({ id })) }),
    });
    if (!response.ok) throw new Error(`The stations are not ${state}: ${await response.text()}`);
  }
}
