import type { ConsoleNeeds } from "@bikeshare/contract";
import type { FastifyRequest } from "fastify";
import { lookUpTogether } from "../partners/keys/key-cache.ts";
import type { Queryable } from "../storage/db/database.ts";
import { embeddedSessionOf } from "./dashboard-links/service.ts";
import { frameToken, sessionToken } from "./session-cookie.ts";
import { type SessionRow, sessionOf } from "./sessions/service.ts";

/** The session that a request brings. */
export interface FoundSession extends SessionRow {
  readonly token: string;
  /** The session began with a link of the operator's portal: the person's identity is not proved. */
  readonly isEmbedded: boolean;
}

/** Tells whether a request comes from a page in a frame of the operator's portal, as the page itself declares. */
function isFromFrame({ headers }: Pick<FastifyRequest, "headers">): boolean {
  return headers["x-dashboard-frame"] !== undefined;
}

/**
 * Returns the session of a person's cookie or, for a page in a frame, that of the frame's. Where the portal is of the same site
 * as the service a browser sends both, and each page means its own.
 */
async function findSession(
  request: FastifyRequest,
  { audience }: ConsoleNeeds,
  db: Queryable,
  now: number,
): Promise<FoundSession | undefined> {
  const own = isFromFrame(request) ? undefined : sessionToken(request);
  const session = own === undefined ? undefined : await sessionOf(db, own, now);
  if (session !== undefined && own !== undefined) return { ...session, token: own, isEmbedded: false };
  // Streams and downloads of frames send only the cookie, and only read a partner's data.
  const mayBeFrame = isFromFrame(request) || (audience === "partner" && request.method === "GET");
  const framed = mayBeFrame && audience !== "public" ? frameToken(request) : undefined;
  const embedded = framed === undefined ? undefined : await embeddedSessionOf(db, framed, now);
  return embedded && framed !== undefined ? { ...embedded, token: framed, isEmbedded: true } : undefined;
}

/** Finds the sessions of requests. */
export type SessionFinder = (request: FastifyRequest, needs: ConsoleNeeds) => Promise<FoundSession | undefined>;

/**
 * Requests of one browser that come at once share a look-up, which begins after each of them came: otherwise somebody who
 * asks for hundreds of pages at once would have all connections.
 */
export function createSessionFinder(db: Queryable, clock: () => number): SessionFinder {
  const lanes = new Map<
    string,
    { readonly find: (request: FastifyRequest) => Promise<FoundSession | undefined>; users: number }
  >();
  return async (request, needs) => {
    const { cookie } = request.headers;
    if (cookie === undefined) return undefined;
    const name = [needs.audience, request.method === "GET", isFromFrame(request), cookie].join("\n");
    const lane = lanes.get(name) ?? {
      find: lookUpTogether(async (alike: readonly FastifyRequest[]) => {
        const [first = request] = alike;
        const found = await findSession(first, needs, db, clock());
        return alike.map(() => found);
      }),
      users: 0,
    };
    lanes.set(name, lane);
    lane.users++;
    try {
      return await lane.find(request);
    } finally {
      lane.users--;
      if (lane.users === 0) lanes.delete(name);
    }
  };
}

/** Tells whether a session goes on, for streams that outlast a request. */
export async function sessionStillOf(
  { token, isEmbedded }: Pick<FoundSession, "token" | "isEmbedded">,
  db: Queryable,
  now: number,
): Promise<SessionRow | undefined> {
  return isEmbedded ? embeddedSessionOf(db, token, now) : sessionOf(db, token, now);
}
