import { z } from "zod";
import { givenOnce } from "../values.ts";
import { consoleErrors, consoleNeeds, systemPath } from "./endpoint.ts";
import { feedReport } from "./feed-report.ts";

const feedQuality = z
  .object({
    sources: z.array(z.string()).describe("Sources with an address, which can be checked too"),
    report: feedReport.nullable().describe("Null: the feed cannot be read"),
    failure: z.string().nullable().describe("Why it cannot be read"),
  })
  .strict();
export type FeedQuality = z.infer<typeof feedQuality>;

/** What planners make of the feeds of a system, and of those that it follows. */
export const feedQualityEndpoints = {
  check: {
    method: "GET",
    path: "/console/v1/systems/:system_id/feed-quality",
    summary: "Check the system's own feeds, or those of a source; a result is kept for some minutes",
    // A check fetches a whole feed set.
    metadata: consoleNeeds("operator", "viewer", { cost: 5 }),
    pathParams: systemPath,
    query: z
      .object({ source: z.string(givenOnce()).min(1).max(200).describe("Default: the system's own").optional() })
      .strict(),
    responses: { 200: feedQuality, ...consoleErrors },
  },
} as const;
