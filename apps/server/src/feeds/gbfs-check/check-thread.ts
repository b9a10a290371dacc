import { parentPort } from "node:worker_threads";
import { checkFeed, type CheckOptions } from "./check.ts";
import type { FeedFiles } from "./feed-set.ts";

/* The worker thread of `checkFeedApart`, which checks a feed set. */

/** The request for a check of a feed set. */
export interface CheckRequest {
  readonly files: FeedFiles;
  readonly options: CheckOptions;
}

parentPort?.on("message", ({ files, options }: CheckRequest) => {
  parentPort?.postMessage(checkFeed(files, options));
});
