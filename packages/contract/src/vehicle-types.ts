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
  "A kind of vehicle. Ids that nobody has described are listed too, with null for what is not known.",
  {
    id: identifier.describe("What `vehicle_type_id` of stations, bikes, rides and reservations names"),
    name: z.string().nullable().describe("What riders call it"),
    form_factor: formFactor.nullable().describe("As in GBFS; null where nobody has said it"),
    propulsion_type: propulsionType.nullable().describe("As in GBFS; null where nobody has said it"),
    max_range_meters: z.number().min(0).nullable().describe("How far it goes when fully charged or fuelled"),
  },
);
export type VehicleType = z.infer<typeof vehicleType>;

export const vehicleTypeList = listOf(vehicleType, {
  title: "VehicleTypeList",
  description: "One page of vehicle types.",
});

export const vehicleTypeListQuery = z.object(pagingQuery).strict();
