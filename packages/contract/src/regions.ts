import { z } from "zod";
import { namedObject } from "./named-object.ts";
import { listOf, pagingQuery } from "./paging.ts";
import { identifier } from "./values.ts";

export const region = namedObject("Region", "A part of the city to which stations belong.", {
  id: identifier.describe("The id in `region_id` of stations"),
  name: z.string().describe("The region's name; its id if the region has no name"),
});
export type Region = z.infer<typeof region>;

export const regionList = listOf(region, { title: "RegionList", description: "One page of regions." });

export const regionListQuery = z.object(pagingQuery).strict();
