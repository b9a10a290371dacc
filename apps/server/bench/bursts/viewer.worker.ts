import { parentPort, workerData } from "node:worker_threads";

/*
 * The viewer of `heavy-viewer.ts`. It runs in a separate thread, so that sending its requests does not delay the measured
 * requests. Each message to the thread starts a burst. The reply counts the requests by outcome.
 */

export interface ViewerData {
  /** The address of the partner's pages. */
  readonly url: string;
  readonly cookie: string;
  readonly burstMilliseconds: number;
}

/** Milliseconds after which the viewer aborts every second download. */
const DROP_AFTER_MS = 300;
/**
 * As many requests as in the trial in which one viewer occupied the database. A file counts as 20 requests, so most are
 * refused.
 */
const DOWNLOADS = 300;
/** Requests for each of `PAGES`. */
const PAGES_OF_EACH = 20;
const PAGES = [
  "deliveries?code=299",
  "deliveries?status=unsuccessful",
  "overview",
  "webhook",
  "requests?status=4xx",
  "audit",
];

const { url, cookie, burstMilliseconds } = workerData as ViewerData;

parentPort?.on("message", () => {
  burst().then(
    (answers) => parentPort?.postMessage(answers),
    (error: unknown) => {
      // Rejects a promise that nobody handles, which ends the thread with this error.
      throw error;
    },
  );
});

async function burst(): Promise<Readonly<Record<string, number>>> {
  const answers: Record<string, number> = {};
  const ended = AbortSignal.timeout(burstMilliseconds);
  const ask = async (path: string, signal: AbortSignal) => {
    const kind = path.replace(/\?.*/, "");
    try {
      const answer = await fetch(`${url}/${path}`, { headers: { cookie }, signal });
      await answer.arrayBuffer();
      count(`${kind} ${answer.status}`);
    } catch {
      count(`${kind} dropped`);
    }
  };
  const count = (what: string) => (answers[what] = (answers[what] ?? 0) + 1);
  const earlyEnd = () => AbortSignal.any([ended, AbortSignal.timeout(DROP_AFTER_MS)]);
  await Promise.all([
    ...Array.from({ length: PAGES_OF_EACH }, () => PAGES.map((path) => ask(path, ended))).flat(),
    ...Array.from({ length: DOWNLOADS }, (_, n) => ask("deliveries.csv?code=299", n % 2 === 0 ? earlyEnd() : ended)),
  ]);
  return answers;
}
