import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { timestamp } from "../values.ts";
import { consoleErrors, consoleNeeds, systemPath } from "./endpoint.ts";

const count = z.number().int().min(0);

export const feedState = z
  .enum(["well", "failing", "not_applied", "stale"])
  .describe("not_applied: it can be read, and its source cannot be applied. stale: its data are too old");

/** One feed of a source that the system follows. */
const followedFeed = z
  .object({
    feed: z.string().describe("Such as `station_status`"),
    state: feedState,
    data_at: timestamp.nullable().describe("`last_updated` of its document; null: none, or its data do not age"),
    checked_at: timestamp,
    succeeded_at: timestamp.nullable().describe("When it was last fetched and read whole; null: never"),
    failing_since: timestamp.nullable(),
    failures: count.describe("One after the other"),
    message: z.string().nullable().describe("Why it failed last"),
    advice: z.string().nullable().describe("What to do about that"),
  })
  .strict();
export type FollowedFeed = z.infer<typeof followedFeed>;

const missingStation = z
  .object({
    id: z.string(),
    name: z.string(),
    status: z.enum(["planned", "online", "offline", "removed"]),
    absent_snapshots: z.number().int().min(1).describe("2: the last two or more did not list it"),
    last_listed_at: timestamp.nullable().describe("The time of the snapshot that listed it last"),
  })
  .strict();

/** The source of stations and bikes. */
const feedSource = z
  .object({
    source: z.string(),
    state: z.enum(["well", "not_followed", "silent", "rejected", "failing", "stale", "no_feed"]),
    text: z.string().describe("How it is doing, in words"),
    action: z.string().nullable().describe("What to do; null: nothing"),
    since: timestamp.nullable(),
    location: z.string().nullable().describe("The address that is followed, without its query"),
    interval_seconds: z.number().min(0).nullable(),
    polled_at: timestamp.nullable(),
    published_id: z.string().nullable().describe("What the source calls its system"),
    information_at: timestamp.nullable().describe("`last_updated` of the newest document of stations that was applied"),
    status_at: timestamp.nullable(),
    vehicles_at: timestamp.nullable(),
    feeds: z.array(followedFeed),
    stations: z.object({ planned: count, online: count, offline: count, removed: count }).strict(),
    bikes: count,
    missing: z.array(missingStation).describe("Stations that its newest snapshots did not list"),
  })
  .strict();
export type FeedSource = z.infer<typeof feedSource>;

/** Endpoints with which the operator sees the sources of a system's stations and bikes. */
export const feedEndpoints = {
  list: {
    method: "GET",
    path: "/console/v1/systems/:system_id/feeds",
    summary: "The sources of stations and bikes, how their feeds are doing, and what to do",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
    query: noQuery,
    responses: { 200: z.object({ data: z.array(feedSource) }).strict(), ...consoleErrors },
  },
} as const;
