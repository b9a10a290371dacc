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

/*
 * A dashboard link (docs/glossary.md#dashboard-link) shows a partner's pages in a frame of the operator's own portal, to
 * viewers who have no account here. Opening the link begins a session. Link and session are one row, so a link opens once.
 */

const MINUTE_MS = 60_000;

interface LinkInput {
  readonly systemId: string;
  readonly partnerId: string;
  /** What the operator's portal calls the viewer. The pages and the audit log show it. */
  readonly viewer: string;
  readonly role: MembershipRole;
}

/** A new link. `token` is part of its URL, and is not stored. */
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
 * Opens a link: its row becomes the session's, and cannot be opened again.
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
 * Finds the session that a frame's cookie names, in the form of a person's session. The viewer has no account, is a member
 * of one partner, and never counts as having confirmed who they are. Every request reads the session anew.
 * @returns undefined when no such session exists, or it has ended
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
    // Counts as just used, so that the session ends at `expires_at` and never because it was idle.
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
        // The session of a frame opens no sandbox and no agency's data. Whoever wants to see them must sign in.
        is_sandbox: false,
        is_agency: false,
        role: membership.role,
      },
    ],
  };
}

/** Ends the session of a frame, by deleting the row that it shares with its link. */
export const endEmbeddedSession: (db: Queryable, id: string) => Promise<void> = deleteLink;
