import type { DashboardLink, DashboardLinkRequest, operatorContract } from "@bikeshare/contract";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { CommandContext } from "../command-context.ts";
import type { Database } from "../db/database.ts";
import { commandError } from "../errors/command-errors.ts";
import { callerOf } from "../http/authenticate.ts";
import { jsonBody } from "../http/bind.ts";
import { markReplay, repeatableRequest, withIdempotency } from "../http/idempotency.ts";
import { makeDashboardLink } from "./service.ts";

interface LinkRoutesContext extends CommandContext {
  readonly db: Database;
  readonly baseUrl: () => string;
  /** Origins whose pages may show the dashboard in a frame. */
  readonly frameAncestors: readonly string[];
}

/** Links that the operator's portal asks for. */
export function dashboardLinkRoutes(
  context: LinkRoutesContext,
): RouterImplementation<(typeof operatorContract)["dashboardLinks"]> {
  return {
    create: async ({ params: { id: partnerId }, body, request, reply }) => {
      if (context.frameAncestors.length === 0) throw commandError("conflict", "noFrameAncestors");
      const { id: keyId, system_id: systemId } = callerOf(request).key;
      const answer = await withIdempotency(context, repeatableRequest(request), async (tx) => {
        const acting = { ...context, db: tx, actor: `key:${keyId}` };
        const { viewer, role = "viewer" } = body;
        const { id, token, expiresAt } = await makeDashboardLink(acting, { systemId, partnerId, viewer, role });
        const url = addressOf(context.baseUrl(), { systemId, partnerId, page: body.page, token });
        const link: DashboardLink = { id, url, expires_at: expiresAt.toISOString() };
        return { status: 200, body: JSON.stringify(link) };
      });
      markReplay(reply, answer);
      return { status: 200, body: jsonBody<DashboardLink>(answer.body) };
    },
  };
}

interface Opened extends Pick<DashboardLinkRequest, "page"> {
  readonly systemId: string;
  readonly partnerId: string;
  readonly token: string;
}

/** The page's address. The token stands behind the #, which browsers send to no server and no log keeps. */
function addressOf(baseUrl: string, { systemId, partnerId, page = "overview", token }: Opened): string {
  const url = new URL(`/dashboard/embedded/partners/${encodeURIComponent(partnerId)}/${page}`, baseUrl);
  url.searchParams.set("system", systemId);
  url.hash = token;
  return url.href;
}
