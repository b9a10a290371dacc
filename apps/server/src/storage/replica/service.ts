import { setTimeout as sleep } from "node:timers/promises";
import { openDatabase, type QueryRunner } from "../db/database.ts";
import { findReplayedPosition, findWrittenPosition } from "./queries.ts";
import { judge, type Verdict } from "./replica.rules.ts";

/** Milliseconds between two queries to a replica that has not replayed everything yet. */
const RETRY_INTERVAL_MS = 50;

/**
 * Judges a replica by the primary's present position, after some time to replay it.
 * @returns `unused` when no process has written a token yet, so that its history is unknown
 * @throws when either cannot be queried
 */
export async function examineReplica(
  primary: QueryRunner,
  replicaUrl: string,
  timeoutMs: number,
): Promise<Verdict | "unused"> {
  const replica = openDatabase({ connectionString: replicaUrl, maxConnections: 1, mayBeStandby: true });
  try {
    const written = await findWrittenPosition(primary);
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const replayed = await findReplayedPosition(replica);
      const verdict = judge(replayed, written);
      if (written.token === null && verdict === "unrelated" && replayed.token === null) return "unused";
      if (verdict !== "behind" || performance.now() > deadline) return verdict;
      await sleep(RETRY_INTERVAL_MS);
    }
  } finally {
    await replica.close();
  }
}
