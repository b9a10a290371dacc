import type { MembershipRole } from "@bikeshare/contract/console";
import { makeDashboardLink, openDashboardLink } from "../src/console/dashboard-links/service.ts";
import { insertMembership, insertPerson } from "../src/console/people/queries.ts";
import { startSession } from "../src/console/sessions/service.ts";
import { csrfTokenOf } from "../src/console/sessions/session.rules.ts";
import type { TestApp } from "./app.ts";

/** A person who is signed in to the dashboard. */
export interface SignedIn {
  readonly personId: string;
  /** The name of the actor in the audit log. */
  readonly actor: string;
  /** The `Cookie` header. */
  readonly cookie: string;
  readonly csrfToken: string;
  /** The headers that a page of the dashboard sends: cookie, origin and CSRF token. */
  readonly headers: Readonly<Record<string, string>>;
  /** Sends a request as a page does, with a JSON body if one is given. */
  call(method: string, path: string, body?: unknown): Promise<Response>;
}

/**
 * Signs a new person in to an app.
 * @param membership for a partner, or for the operator if `partnerId` is null; default role: admin. Undefined: no membership
 */
export async function signIn(
  app: Pick<TestApp, "db" | "clock" | "ids" | "url" | "systemId">,
  membership?: { readonly partnerId: string | null; readonly role?: MembershipRole; readonly systemId?: string },
): Promise<SignedIn> {
  const { db, clock, ids } = app;
  const now = new Date(clock());
  const id = ids.next("person");
  const person = { id, email: `${id.toLowerCase()}@example.com`, name: id, created_at: now };
  await insertPerson(db, person, { by: "mail", systemId: null });
  if (membership !== undefined) {
    const { partnerId, role = "admin", systemId = app.systemId } = membership;
    const member = { systemId, personId: id, partnerId, role, id: ids.next("membership"), createdAt: now };
    await insertMembership(db, member);
  }
  return signInAgain(app, id);
}

/** Begins another session of a person. */
export async function signInAgain(
  { db, clock, ids, url }: Pick<TestApp, "db" | "clock" | "ids" | "url">,
  personId: string,
): Promise<SignedIn> {
  const token = await startSession({ db, clock, ids }, personId, { address: "192.0.2.1", userAgent: "test" });
  const cookie = `bikeshare_session=${token}`;
  const csrfToken = csrfTokenOf(token);
  return signedIn(url, { personId, actor: `person:${personId}`, cookie, csrfToken }, {});
}

/** Opens a partner's pages in a frame of the operator's portal, with a dashboard link. */
export async function openFrame(
  { db, clock, ids, url, systemId }: Pick<TestApp, "db" | "clock" | "ids" | "url" | "systemId">,
  { partnerId, role = "admin", ...of }: { partnerId: string; role?: MembershipRole; systemId?: string },
): Promise<SignedIn> {
  const context = { db, clock, ids, actor: "test" };
  const link = { systemId, ...of, partnerId, role, viewer: "ada@transit.example" };
  const { id, token: linkToken } = await makeDashboardLink(context, link);
  const token = await openDashboardLink(context, linkToken);
  const caller = { personId: id, actor: "embedded:ada@transit.example", cookie: `bikeshare_frame=${token}` };
  return signedIn(url, { ...caller, csrfToken: csrfTokenOf(token) }, { "x-dashboard-frame": "1" });
}

function signedIn(
  url: string,
  { personId, actor, cookie, csrfToken }: Pick<SignedIn, "personId" | "actor" | "cookie" | "csrfToken">,
  more: Readonly<Record<string, string>>,
): SignedIn {
  const headers = { cookie, origin: url, "x-csrf-token": csrfToken, ...more };
  return {
    personId,
    actor,
    cookie,
    csrfToken,
    headers,
    call: (method, path, body) =>
      fetch(url + path, {
        method,
        headers: body === undefined ? headers : { ...headers, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
  };
}
