import { once } from "node:events";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { FeedReport } from "@bikeshare/contract/console";
import type { CheckRequest } from "./check-thread.ts";
import type { CheckOptions } from "./check.ts";
import type { FeedFiles } from "./feed-set.ts";

/**
 * Most memory of one check, in MB. The largest known feeds take a third of it. Too low: checks of large feeds fail. Too
 * high: takes memory from requests.
 */
const LIMITS = { maxOldGenerationSizeMb: 384, maxYoungGenerationSizeMb: 32 };
/** Most checks at one time in this process. Too low: checks wait for each other. Too high: checks take too much memory. */
const CONCURRENCY = 2;
/** Time limit of one check. The largest known feeds take two seconds. */
const TIMEOUT_MS = 20_000;

/** The number of checks that run, and the functions that let waiting checks begin, the earliest first. */
let running = 0;
const waiting: (() => void)[] = [];

/**
 * Checks a feed set on its own thread, so that the process can answer requests meanwhile. Waits while `CONCURRENCY` other
 * checks run.
 * @throws Error when the check takes too much memory or time
 */
export async function checkFeedApart(files: FeedFiles, options: CheckOptions): Promise<FeedReport> {
  if (running < CONCURRENCY) running++;
  else {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push(resolve);
    await promise;
  }
  try {
    return await checkOnThread(files, options);
  } finally {
    const next = waiting.shift();
    // The next waiting check takes the place of this one, so `running` stays the same.
    if (next === undefined) running--;
    else next();
  }
}

async function checkOnThread(files: FeedFiles, options: CheckOptions): Promise<FeedReport> {
  const extension = extname(import.meta.url);
  const thread = new Worker(new URL(`./check-thread${extension}`, import.meta.url), {
    resourceLimits: LIMITS,
    // If this process runs from TypeScript source, the thread must resolve our packages to their source too.
    execArgv: extension === ".ts" ? ["--conditions=@bikeshare/source"] : [],
  });
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const answered = once(thread, "message", { signal });
    thread.postMessage({ files, options } satisfies CheckRequest);
    const [report] = (await answered) as [FeedReport];
    return report;
  } catch (error) {
    if (signal.aborted) throw new Error("checking the files takes too long", { cause: error });
    const isOutOfMemory = error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
    throw isOutOfMemory ? new Error("checking the files takes too much memory", { cause: error }) : error;
  } finally {
    await thread.terminate();
  }
}
