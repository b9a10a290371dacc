import type { AuditQuery, consoleContract, ShownAct } from "@bikeshare/contract/console";
import { cursorScope, serviceError } from "@bikeshare/rules";
import type { RouterImplementation } from "@ts-rest/fastify";
import { type ActRow, searchActs } from "../audit/service.ts";
import { timePosition } from "../lists/page.ts";
import { personWithEmail } from "../people/sign-in.ts";
import { consoleCaller, type ConsoleRequest } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";

type Routes = RouterImplementation<typeof consoleContract>;

const DEFAULT_LIMIT = 50;

/** What was done to a partner. */
export function partnerAuditRoutes(context: ConsoleContext): Routes["partnerAudit"] {
  return {
    list: async ({ query, request }) => {
      const { partnerId } = consoleCaller(request);
      return listActs(context, request, { ...query, partner_id: partnerId ?? undefined }, withoutAccount);
    },
  };
}

/** All of a system's audit log, for the operator. */
export function systemAuditRoutes(context: ConsoleContext): Routes["systemAudit"] {
  return {
    list: async ({ query, request }) => {
      const actor = await actorOf(context, query.actor);
      return listActs(context, request, { ...query, actor }, (act) => act);
    },
  };
}

async function listActs(
  context: ConsoleContext,
  request: ConsoleRequest,
  { cursor, limit = DEFAULT_LIMIT, ...filters }: AuditQuery,
  view: (act: ShownAct) => ShownAct,
) {
  const { systemId } = consoleCaller(request);
  const { cursorCipher } = context;
  const scope = cursorScope(systemId, "audit", filters);
  const { acts, next, searchedTo } = await searchActs(context, systemId, {
    partnerId: filters.partner_id,
    actor: filters.actor,
    action: filters.action,
    subject: filters.subject,
    since: instant(filters.since),
    until: instant(filters.until),
    after: cursor === undefined ? undefined : readCursor(cursorCipher.decrypt(scope, cursor)),
    limit,
  });
  return {
    status: 200 as const,
    body: {
      data: acts.map((act) => view(shown(act))),
      ...(next && { next_cursor: cursorCipher.encrypt(scope, timePosition.encode(next)) }),
      ...(searchedTo && { searched_to: searchedTo.toISOString() }),
    },
  };
}

function readCursor(text: string | undefined) {
  const position = text === undefined ? undefined : timePosition.decode(text);
  if (position === undefined) throw serviceError("invalid_cursor", "foreign");
  return position;
}

/** A person is looked for by the mail address that people know; the log names the id. */
async function actorOf(context: ConsoleContext, actor: string | undefined): Promise<string | undefined> {
  if (actor?.includes("@") !== true) return actor;
  const person = await personWithEmail(context, actor);
  return person === undefined ? actor : `person:${person.id}`;
}

/** An account of the operator's machines is no business of partners. */
function withoutAccount(act: ShownAct): ShownAct {
  return { ...act, actor: act.actor.replace(/^cli:.*/s, "cli") };
}

function instant(text: string | undefined): Date | undefined {
  return text === undefined ? undefined : new Date(text);
}

function shown({ at, detail, ...act }: ActRow): ShownAct {
  const isObject = typeof detail === "object" && detail !== null;
  return { ...act, at: at.toISOString(), detail: isObject ? { ...detail } : {} };
}
