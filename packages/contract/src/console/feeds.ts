import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { timestamp } from "../values.ts";
import { consoleErrors, consoleNeeds, systemPath } from "./endpoint.ts";

const count = z.number().int().min(0);

export const feedState = z
  .enum(["well", "failing", "not_applied", "stale"])
  .describe("not_applied: the feed can be read, but its source cannot be applied. stale: its data are too old");

/** One feed of a source that the system follows. */
const followedFeed = z
  .object({
    feed: z.string().describe("The feed's name, such as `station_status`"),
    state: feedState,
    data_at: timestamp.nullable().describe("`last_updated` of the feed's document; null: none, or its data do not age"),
    checked_at: timestamp,
    succeeded_at: timestamp.nullable().describe("When the feed was last fetched and read completely; null: never"),
    failing_since: timestamp.nullable(),
    failures: count.describe("Failures in a row"),
    message: z.string().nullable().describe("The reason of the latest failure"),
    advice: z.string().nullable().describe("What to do about the failure"),
  })
  .strict();
export type FollowedFeed = z.infer<typeof followedFeed>;

const missingStation = z
  .object({
    id: z.string(),
    name: z.string(),
    status: z.enum(["planned", "online", "offline", "removed"]),
    absent_snapshots: z.number().int().min(1).describe("Latest snapshots in a row without the station; 2: two or more"),
    last_listed_at: timestamp.nullable().describe("The time of the last snapshot that listed the station"),
  })
  .strict();

/** The source of stations and bikes. */
const feedSource = z
  .object({
    source: z.string(),
    // not_followed: no process polls it. silent: a process polled it, and has stopped. rejected: its documents can be read,
    // but not applied. failing: some of its feeds cannot be read. stale: its data are too old. no_feed: not a GBFS feed.
    state: z.enum(["well", "not_followed", "silent", "rejected", "failing", "stale", "no_feed"]),
    text: z.string().describe("The state of the source, in words"),
    action: z.string().nullable().describe("What to do; null: nothing"),
    since: timestamp.nullable(),
    location: z.string().nullable().describe("The address that the service follows, without its query"),
    interval_seconds: z.number().min(0).nullable(),
    polled_at: timestamp.nullable(),
    published_id: z.string().nullable().describe("The `system_id` that the source publishes"),
    information_at: timestamp.nullable().describe("`last_updated` of the newest document of stations that was applied"),
    status_at: timestamp.nullable(),
    vehicles_at: timestamp.nullable(),
    feeds: z.array(followedFeed),
    stations: z.object({ planned: count, online: count, offline: count, removed: count }).strict(),
    bikes: count,
    missing: z.array(missingStation).describe("Stations that the newest snapshots did not list"),
  })
  .strict();
export type FeedSource = z.infer<typeof feedSource>;

/** Endpoints with which the operator sees the sources of a system's stations and bikes. */
export const feedEndpoints = {
  list: {
    method: "GET",
    path: "/console/v1/systems/:system_id/feeds",
    summary: "The sources of stations and bikes, the state of their feeds, and what to do",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
    query: noQuery,
    responses: { 200: z.object({ data: z.array(feedSource) }).strict(), ...consoleErrors },
  },
} as const;
