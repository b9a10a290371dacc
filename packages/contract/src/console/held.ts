import { z } from "zod";
import { givenInstant } from "../values.ts";
import { changeNeeds, ofWebhook, partnerBase } from "./deliveries.ts";
import { changeErrors, consoleErrors, consoleNeeds, partnerPath } from "./endpoint.ts";

/**
 * How many deliveries are held. The page sends the same back to drop them: the service refuses if more are held by then, so
 * that nobody drops deliveries unseen.
 */
const heldDeliveries = z
  .object({
    total: z.number().int().min(0).describe("Number of held deliveries, without those that are being sent again"),
    until: givenInstant.describe("Counts deliveries held by this instant. Later ones are not dropped with them"),
  })
  .strict();

const ofOne = { pathParams: partnerPath, query: ofWebhook };

/** Endpoints for the deliveries that were held while the webhook was paused. */
export const heldEndpoints = {
  held: {
    method: "GET",
    path: `${partnerBase}/webhook/held`,
    summary: "How many deliveries are held, to be sent or dropped",
    metadata: consoleNeeds("partner"),
    ...ofOne,
    responses: { 200: heldDeliveries, ...consoleErrors },
  },
  sendHeld: {
    method: "POST",
    path: `${partnerBase}/webhook/held/send`,
    summary: "Send the held deliveries as soon as the webhook is active, after current events",
    metadata: changeNeeds,
    ...ofOne,
    body: z.object({}).strict(),
    responses: { 200: z.object({ sent: z.number().int() }).strict(), ...changeErrors },
  },
  dropHeld: {
    method: "POST",
    path: `${partnerBase}/webhook/held/drop`,
    summary: "Drop held deliveries, oldest first; repeat until `remaining` is 0",
    metadata: changeNeeds,
    ...ofOne,
    body: heldDeliveries.extend({
      is_continued: z
        .boolean()
        .optional()
        .describe("True: `total` is the `remaining` of an earlier request, and is not counted again"),
    }),
    responses: {
      200: z.object({ dropped: z.number().int(), remaining: z.number().int() }).strict(),
      ...changeErrors,
    },
  },
} as const;
