import { extendApi } from "@anatine/zod-openapi";
import { z } from "zod";
import { identifier } from "./identifier.ts";
import { listOf, pagingQuery } from "./paging.ts";

export const region = extendApi(
  z
    .object({
      id: identifier.describe("What `region_id` of stations names"),
      name: z.string().describe("The id where nobody has given it a name"),
    })
    .strict()
    .describe("A part of the city to which stations belong."),
  { title: "Region" },
);
export type Region = z.infer<typeof region>;

export const regionList = listOf(region, { title: "RegionList", description: "One page of regions." });

export const regionListQuery = z.object(pagingQuery).strict();
