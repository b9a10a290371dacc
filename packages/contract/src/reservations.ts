import { extendApi } from "@anatine/zod-openapi";
import { z } from "zod";
import { DEFAULT_HOLD_MINUTES, MAX_HOLD_MINUTES, MAX_TOTAL_HOLD_MINUTES } from "./limits.ts";
import { issueText } from "./messages.ts";
import { namedObject } from "./named-object.ts";
import { changesQuery, followedListOf, pagingQuery } from "./paging.ts";
import { givenIdentifier, givenOnce, identifier, identifierParam, textOf, instantParam, timestamp } from "./values.ts";

/** A partner's own reference for a rider. */
export const riderRef = textOf("riderRef", givenOnce());

export const reservationStatus = z.enum(["active", "fulfilled", "cancelled", "expired"]);
export const cancelReason = z.enum(["partner", "operator", "bike_unavailable"]);

/** A bike that is held for a partner's rider, from now for some minutes. */
export const reservation = namedObject(
  "Reservation",
  "A bike that is held for one of your riders. You see only your own reservations.",
  {
    id: identifier,
    status: reservationStatus.describe("`active` → `fulfilled`, `cancelled` or `expired`, all final"),
    station_id: identifier.nullable().describe("The station where the bike stands; null: outside a station"),
    bike_id: identifier.describe("The bike, which is assigned when the reservation is made"),
    vehicle_type_id: z.string().nullable(),
    rider_ref: z
      .string()
      .nullable()
      .describe("Your own reference for the rider, which the service does not interpret; null: none"),
    created_at: timestamp,
    expires_at: timestamp.describe(
      "At this instant, to the second, a reservation that is still `active` becomes `expired`",
    ),
    cancelled_at: timestamp.nullable(),
    cancel_reason: cancelReason.nullable(),
    ride_id: identifier.nullable().describe("The ride that fulfilled the reservation; null: none"),
    ride_cancelled_at: timestamp
      .nullable()
      .describe("When the ride `ride_id` was cancelled because it did not take place; null: it was not"),
    updated_at: timestamp.describe("When this object last changed"),
  },
);
export type Reservation = z.infer<typeof reservation>;

export const reservationList = followedListOf(reservation, {
  title: "ReservationList",
  description: "One page of your reservations.",
});

export const reservationListQuery = z
  .object({
    ...pagingQuery,
    status: z.enum(reservationStatus.options, givenOnce()).optional().describe("Only reservations in this state"),
    rider_ref: riderRef.optional().describe("Only reservations of this rider"),
    bike_id: identifierParam.optional().describe("Only reservations of this bike"),
    ride_id: identifierParam.optional().describe("Only the reservation that this ride fulfilled"),
    updated_since: instantParam
      .optional()
      .describe("Only reservations changed at or after this instant; an expired one changed at its `expires_at`"),
    ...changesQuery,
  })
  .strict();

const holdMinutes = z
  .number()
  .int(issueText("integer"))
  .min(1, issueText("range", { minimum: 1, maximum: MAX_HOLD_MINUTES }))
  .max(MAX_HOLD_MINUTES, issueText("range", { minimum: 1, maximum: MAX_HOLD_MINUTES }));

/** The requested bike: any bike of a station, or one bike. */
export const reservationRequest = extendApi(
  z
    .object({
      station_id: givenIdentifier.optional().describe("Any bike of this station. Give this or `bike_id`, not both"),
      bike_id: givenIdentifier.optional().describe("This bike. Give this or `station_id`, not both"),
      vehicle_type_id: givenIdentifier.optional().describe("Only a bike of this type"),
      rider_ref: riderRef
        .optional()
        .describe(
          "Your own reference for the rider, such as a random number: never a name, an e-mail address or a telephone number. A rider can hold one bike at a time",
        ),
      hold_minutes: extendApi(
        holdMinutes
          .optional()
          .describe(`Minutes to hold the bike: default ${DEFAULT_HOLD_MINUTES}, at most ${MAX_HOLD_MINUTES}`),
        { default: DEFAULT_HOLD_MINUTES },
      ),
    })
    .strict()
    .superRefine((request, ctx) => {
      const named = [request.station_id, request.bike_id].filter((id) => id !== undefined).length;
      if (named === 1) return;
      const message = issueText(named === 0 ? "stationOrBike" : "stationAndBike");
      ctx.addIssue({ code: z.ZodIssueCode.custom, path: ["station_id"], message });
    }),
  { title: "ReservationRequest", oneOf: [{ required: ["station_id"] }, { required: ["bike_id"] }] },
);
export type ReservationRequest = z.infer<typeof reservationRequest>;

/** The extension of a reservation. */
export const reservationExtension = extendApi(
  z
    .object({
      hold_minutes: holdMinutes.describe(
        `Minutes to add to \`expires_at\`: at most ${MAX_HOLD_MINUTES}; the hold lasts at most ${MAX_TOTAL_HOLD_MINUTES} minutes in total`,
      ),
    })
    .strict(),
  { title: "ReservationExtension" },
);
export type ReservationExtension = z.infer<typeof reservationExtension>;
