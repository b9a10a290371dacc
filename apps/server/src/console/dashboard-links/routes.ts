import type { DashboardLink, DashboardLinkRequest, operatorContract } from "@bikeshare/contract";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { CommandContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import { callerOf } from "../../http/authenticate.ts";
import { jsonBody } from "../../http/bind.ts";
import { markReplay, repeatableRequest, withIdempotency } from "../../http/idempotency.ts";
import type { Database } from "../../storage/db/database.ts";
import type { TokenCipher } from "../../storage/secrets/encryption.ts";
import { makeDashboardLink } from "./service.ts";

/*
 * The route of the operator's API that creates dashboard links, which show a partner's pages in a frame of the operator's
 * portal. A repeat of a request gets the same link, so the answer is stored, with the link's token encrypted.
 */

interface LinkRoutesContext extends CommandContext {
  readonly db: Database;
  /** Encrypts a link's token in the stored answer. */
  readonly cipher: TokenCipher;
  readonly baseUrl: () => string;
  /** Origins whose pages may show the dashboard in a frame. */
  readonly frameAncestors: readonly string[];
}

/** Routes with which the operator's portal creates dashboard links. */
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
        const url = addressOf(context.baseUrl(), { systemId, partnerId, page: body.page });
        const link: DashboardLink = { id, url, expires_at: expiresAt.toISOString() };
        return { status: 200, body: JSON.stringify({ link, secret: context.cipher.encrypt(id, token) }) };
      });
      markReplay(reply, answer);
      return { status: 200, body: jsonBody<DashboardLink>(JSON.stringify(linkOf(context, answer.body))) };
    },
  };
}

/** Returns the link from a stored answer, with its token decrypted. */
function linkOf({ cipher }: Pick<LinkRoutesContext, "cipher">, kept: string): DashboardLink {
  // The text was stored above, or by version 0.1.0, which stored the link unencrypted.
  const stored = JSON.parse(kept) as { readonly link: DashboardLink; readonly secret: string } | DashboardLink;
  if (!("link" in stored)) return stored;
  const { link, secret } = stored;
  const token = cipher.decrypt(link.id, secret);
  // If the encryption key was removed since, the URL has no token, and leads to the page about expired links. Keys are
  // removed an hour after their last use at the earliest, when the link has expired, unless somebody forces it.
  return token === undefined ? link : { ...link, url: `${link.url}#${token}` };
}

/** The page that a link opens. */
interface LinkedPage extends Pick<DashboardLinkRequest, "page"> {
  readonly systemId: string;
  readonly partnerId: string;
}

/** Returns the page's URL. `linkOf` adds the token behind a `#`: browsers send that part to no server, so no log has it. */
function addressOf(baseUrl: string, { systemId, partnerId, page = "overview" }: LinkedPage): string {
  const url = new URL(`/dashboard/embedded/partners/${encodeURIComponent(partnerId)}/${page}`, baseUrl);
  url.searchParams.set("system", systemId);
  return url.href;
}
