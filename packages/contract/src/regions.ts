import { z } from "zod";
import { namedObject } from "./named-object.ts";
import { listOf, pagingQuery } from "./paging.ts";
import { identifier } from "./values.ts";

export const region = namedObject("Region", "A part of the city to which stations belong.", {
  id: identifier.describe("What `region_id` of stations names"),
  name: z.string().describe("The id where nobody has given it a name"),
});
export type Region = z.infer<typeof region>;

export const regionList = listOf(region, { title: "RegionList", description: "One page of regions." });

export const regionListQuery = z.object(pagingQuery).strict();
