import { z } from "zod";
import { givenOnce } from "../values.ts";
import { consoleErrors, consoleNeeds, systemPath } from "./endpoint.ts";
import { feedReport } from "./feed-report.ts";

const feedQuality = z
  .object({
    sources: z.array(z.string()).describe("Sources with an address, which can be checked too"),
    report: feedReport.nullable().describe("Null: the feed cannot be read"),
    failure: z.string().nullable().describe("Why the feed cannot be read; null: it can"),
  })
  .strict();
export type FeedQuality = z.infer<typeof feedQuality>;

/** Checks what trip planners can use of a system's own feeds, or of a feed that the system follows. */
export const feedQualityEndpoints = {
  check: {
    method: "GET",
    path: "/console/v1/systems/:system_id/feed-quality",
    summary: "Check the system's own feeds, or those of a source; a result is kept for some minutes",
    // It costs more than other reads, because a check fetches every file of a feed.
    metadata: consoleNeeds("operator", "viewer", { cost: 5 }),
    pathParams: systemPath,
    query: z
      .object({ source: z.string(givenOnce()).min(1).max(200).describe("Default: the system's own").optional() })
      .strict(),
    responses: { 200: feedQuality, ...consoleErrors },
  },
} as const;
