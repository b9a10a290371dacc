import { callAsOperator, inviteAsOperator, type Role } from "./console-client.ts";
import { acceptInvitation, type World } from "./world.ts";

/** A partner that a test has created for itself. */
export interface TestPartner {
  readonly id: string;
  /** The path parameters of the partner in the dashboard's API. */
  readonly params: { readonly system_id: string; readonly partner_id: string };
  /** Creates an invitation. @returns its link */
  invite(role: Role): Promise<string>;
  /** Signs in a new person. @returns their session cookie */
  signIn(role: Role): Promise<string>;
}

/** Adds a partner with a key. A webhook gets only events that some key of the partner may read. */
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

/** Takes stations offline and back online. Each station then has one event of each kind. */
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
