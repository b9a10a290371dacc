import { z } from "zod";
import { ofWebhooks } from "./deliveries.ts";
import { consoleErrors, consoleNeeds, partnerPath } from "./endpoint.ts";

/** The topics of a partner's live events. */
const liveTopic = z.enum(["deliveries"]);
export type LiveTopic = z.infer<typeof liveTopic>;

/** One event of the topic `deliveries`: ids of changed deliveries, newest first. `more`: others changed too. */
const deliveriesChanged = z.object({ ids: z.array(z.string()), more: z.boolean() }).strict();
export type DeliveriesChanged = z.infer<typeof deliveriesChanged>;

/**
 * Live changes as server-sent events: the event's name is the topic, its data JSON. The event `gap` follows a reconnection
 * from an unknown position. It means that changes may have been missed: the page should read its data again.
 */
export const liveStreamEndpoints = {
  partner: {
    method: "GET",
    path: "/console/v1/systems/:system_id/partners/:partner_id/live",
    summary: "A partner's changes as they happen",
    metadata: consoleNeeds("partner"),
    pathParams: partnerPath,
    query: ofWebhooks.extend({ topic: liveTopic }),
    responses: { 200: z.string(), ...consoleErrors },
  },
} as const;
