import { z } from "zod";
import { namedObject } from "./named-object.ts";
import { listOf, pagingQuery } from "./paging.ts";
import { identifier } from "./values.ts";
import { formFactors, propulsionTypes } from "./vehicle-words.ts";

/** The shape of a vehicle, in the words of GBFS. */
export const formFactor = z.enum(formFactors);

/** The propulsion of a vehicle, in the words of GBFS. */
export const propulsionType = z.enum(propulsionTypes);

export const vehicleType = namedObject(
  "VehicleType",
  "A type of vehicle. Types without a description are listed too, with null for what is not known.",
  {
    id: identifier.describe("The id in `vehicle_type_id` of stations, bikes, rides and reservations"),
    name: z.string().nullable().describe("The name for riders; null: not known"),
    form_factor: formFactor.nullable().describe("As in GBFS; null: not known"),
    propulsion_type: propulsionType.nullable().describe("As in GBFS; null: not known"),
    max_range_meters: z
      .number()
      .min(0)
      .nullable()
      .describe("How far the vehicle goes when fully charged or fuelled; null: not known"),
  },
);
export type VehicleType = z.infer<typeof vehicleType>;

export const vehicleTypeList = listOf(vehicleType, {
  title: "VehicleTypeList",
  description: "One page of vehicle types.",
});

export const vehicleTypeListQuery = z.object(pagingQuery).strict();
