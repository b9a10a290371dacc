import { type Me, me, type partnerContract } from "@bikeshare/contract";
import type { RouterImplementation } from "@ts-rest/fastify";
import { reservationUse } from "../../city/reservations/service.ts";
import { callerOf } from "../../http/authenticate.ts";
import type { Queryable } from "../../storage/db/database.ts";

/** Returns the route that shows a caller its own key. */
export function meRoutes(context: {
  readonly db: Queryable;
  readonly clock: () => number;
}): RouterImplementation<(typeof partnerContract)["me"]> {
  return {
    get: async ({ request }) => {
      const { key, rate } = callerOf(request);
      if (key.partner_id === null) throw new Error("an operator key got past the scope check");
      const body: Me = {
        key_id: key.id,
        partner: { id: key.partner_id, name: key.partner_name ?? key.partner_id },
        scopes: me.shape.scopes.parse(key.scopes),
        expires_at: key.expires_at?.toISOString() ?? null,
        rate_limit: { limit: rate.limit, remaining: rate.remaining, reset_seconds: rate.resetSeconds },
        reservations: await reservationUse(context, { systemId: key.system_id, partnerId: key.partner_id }),
      };
      return { status: 200, body };
    },
  };
}
