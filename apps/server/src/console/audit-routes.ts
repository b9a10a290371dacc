import type { AuditQuery, ShownAct } from "@bikeshare/contract/console";
import { cursorScope, readPageRequest } from "@bikeshare/rules";
import { cursorPosition } from "../http/cursor.ts";
import { type ActRow, searchActs } from "../partners/audit/service.ts";
import type { Queryable } from "../storage/db/database.ts";
import { timePosition } from "../storage/lists/page.ts";
import { type ConsoleRoutes, dateOf, type Served } from "./answers.ts";
import { consoleCaller } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";
import type { LongReads, LongRequest } from "./long-reads.ts";
import { personWithEmail } from "./people/sign-in.ts";

type Routes = ConsoleRoutes;

/** Routes of a partner's audit log. */
export function partnerAuditRoutes(context: ConsoleContext, long: LongReads): Routes["partnerAudit"] {
  return {
    list: async ({ query, request }) => {
      const { partnerId } = consoleCaller(request);
      return listActs(
        { ...context, db: long.databaseFor(request) },
        request,
        { ...query, partner_id: partnerId ?? undefined },
        withoutAccount,
      );
    },
  };
}

/** All of a system's audit log, for the operator. */
export function systemAuditRoutes(context: ConsoleContext, long: LongReads): Routes["systemAudit"] {
  return {
    list: async ({ query, request }) => {
      const actor = await actorOf(context, query.actor);
      return listActs({ ...context, db: long.databaseFor(request) }, request, { ...query, actor }, (act) => act);
    },
  };
}

async function listActs(
  context: Pick<ConsoleContext, "clock" | "cursorCipher"> & { readonly db: Queryable },
  request: LongRequest,
  { cursor, limit, ...filters }: AuditQuery,
  view: (act: ActRow) => ActRow,
) {
  const { systemId } = consoleCaller(request);
  const position = cursorPosition(context.cursorCipher, cursorScope(systemId, "audit", filters), timePosition);
  const asked = readPageRequest({ limit, cursor }, (text) => position.decode(text));
  const { acts, next, searchedTo } = await searchActs(context, systemId, {
    partnerId: filters.partner_id,
    actor: filters.actor,
    action: filters.action,
    subject: filters.subject,
    since: dateOf(filters.since),
    until: dateOf(filters.until),
    after: asked.kind === "cursor" ? asked.after : undefined,
    limit: asked.limit,
  });
  return {
    status: 200 as const,
    body: {
      data: acts.map((act) => shownAct(view(act))),
      ...(next && { next_cursor: position.encode(next) }),
      ...(searchedTo && { searched_to: searchedTo }),
    },
  };
}

/** A person is looked for by the mail address that people know; the log names the id. */
async function actorOf(context: ConsoleContext, actor: string | undefined): Promise<string | undefined> {
  if (actor?.includes("@") !== true) return actor;
  const person = await personWithEmail(context, actor);
  return person === undefined ? actor : `person:${person.id}`;
}

/** An account of the operator's machines is no business of partners. */
function withoutAccount(act: ActRow): ActRow {
  return { ...act, actor: act.actor.replace(/^cli:.*/s, "cli") };
}

/** Returns an entry of the audit log as pages show it. */
export function shownAct({ detail, ...act }: ActRow): Served<ShownAct> {
  const isObject = typeof detail === "object" && detail !== null;
  return { ...act, detail: isObject ? { ...detail } : {} };
}
