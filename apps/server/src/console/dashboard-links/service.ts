import { DASHBOARD_LINK_MINUTES, EMBEDDED_SESSION_MINUTES } from "@bikeshare/contract";
import type { MembershipRole } from "@bikeshare/contract/console";
import { serviceError } from "@bikeshare/rules";
import type { ActorContext, CommandContext } from "../../command-context.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import { partnerWithId } from "../../partners/service.ts";
import type { Queryable } from "../../storage/db/database.ts";
import type { SessionRow } from "../sessions/service.ts";
import { hashToken, isToken, makeToken } from "../sessions/session.rules.ts";
import { deleteExpiredLinks, deleteLink, findEmbedded, insertLink, updateOpened } from "./queries.ts";

const MINUTE_MS = 60_000;

interface LinkInput {
  readonly systemId: string;
  readonly partnerId: string;
  /** The portal's name for the viewer. */
  readonly viewer: string;
  readonly role: MembershipRole;
}

/** A link just made. `token` is in its address, and stored nowhere. */
interface MadeLink {
  readonly id: string;
  readonly token: string;
  readonly expiresAt: Date;
}

/** Makes a link to a partner's pages. @throws ServiceError when there is no such partner */
export async function makeDashboardLink(context: ActorContext, input: LinkInput): Promise<MadeLink> {
  const { db, clock, ids } = context;
  const { systemId, partnerId, viewer, role } = input;
  if ((await partnerWithId(context, systemId, partnerId)) === undefined) throw serviceError("not_found", "partner");
  const now = new Date(clock());
  const id = ids.next("dashboard_link");
  const token = makeToken((bytes) => ids.randomBytes(bytes));
  const expiresAt = new Date(now.getTime() + DASHBOARD_LINK_MINUTES * MINUTE_MS);
  await deleteExpiredLinks(db, systemId, now);
  await insertLink(db, {
    system_id: systemId,
    id,
    hash: hashToken(token),
    partner_id: partnerId,
    role,
    viewer,
    created_at: now,
    expires_at: expiresAt,
  });
  const act = { systemId, action: "dashboard_link.created", subject: partnerId, detail: { id, viewer, role } };
  await insertActOf(context, db, act);
  return { id, token, expiresAt };
}

/**
 * Opens a link, once: its session begins.
 * @returns the cookie's token, which is stored nowhere
 * @throws ServiceError `not_found` when the link cannot be opened any more
 */
export async function openDashboardLink(context: CommandContext, linkToken: string): Promise<string> {
  const { db, clock, ids } = context;
  const now = new Date(clock());
  const token = makeToken((bytes) => ids.randomBytes(bytes));
  const expiresAt = new Date(now.getTime() + EMBEDDED_SESSION_MINUTES * MINUTE_MS);
  const session = { hash: hashToken(token), now, expiresAt };
  const opened = isToken(linkToken) ? await updateOpened(db, hashToken(linkToken), session) : undefined;
  if (opened === undefined) throw serviceError("not_found", "dashboardLink");
  const { system_id: systemId, partner_id: partnerId, id, viewer } = opened;
  const act = { systemId, action: "dashboard_link.opened", subject: partnerId, detail: { id } };
  await insertActOf({ ...context, actor: `embedded:${viewer}` }, db, act);
  return token;
}

/**
 * Returns the session of a frame's cookie in the form of a person's session: without an account, a member of one partner,
 * and never confirmed. Undefined when there is none, or it has ended. Every request reads it anew.
 */
export async function embeddedSessionOf(db: Queryable, token: string, now: number): Promise<SessionRow | undefined> {
  const row = isToken(token) ? await findEmbedded(db, hashToken(token)) : undefined;
  if (row === undefined || row.expires_at.getTime() <= now) return undefined;
  const { id, viewer, created_at, expires_at, ...membership } = row;
  return {
    id,
    person_id: id,
    email: viewer,
    name: viewer,
    needs_proof: false,
    created_at,
    // Only the end of its life ends it.
    last_used_at: new Date(now),
    expires_at,
    confirmed_at: new Date(0),
    address: "",
    user_agent: "",
    memberships: [
      {
        system_id: membership.system_id,
        system_name: membership.system_name,
        partner_id: membership.partner_id,
        partner_name: membership.partner_name,
        partner_suspended: membership.partner_suspended,
        // A frame shows no city data: its people sign in.
        is_sandbox: false,
        is_agency: false,
        role: membership.role,
      },
    ],
  };
}

/** Ends the session of a frame. */
export const endEmbeddedSession: (db: Queryable, id: string) => Promise<void> = deleteLink;
