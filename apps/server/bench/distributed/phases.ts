import { exec } from "node:child_process";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { openDatabase } from "../../src/storage/db/database.ts";
import type { Attempt } from "../workload/requests.ts";
import type { SystemLoad } from "./loads.ts";
import { listPorts, moveSystem } from "./systems.ts";

/** What was done, and what each system's clients saw meanwhile. */
export interface Phase {
  readonly title: string;
  readonly ms: number;
  readonly attempts: ReadonlyMap<string, readonly Attempt[]>;
}

interface PhasesOptions {
  readonly databaseUrl: string;
  readonly loads: readonly SystemLoad[];
  /** Of each phase in which nothing is done. */
  readonly seconds: number;
  /** Break and mend the second machine. */
  readonly commands: { readonly break: string; readonly mend: string } | undefined;
  readonly onProgress: (line: string) => void;
}

export async function runPhases(options: PhasesOptions): Promise<readonly Phase[]> {
  const { databaseUrl, loads, seconds, commands, onProgress } = options;
  const db = openDatabase({ connectionString: databaseUrl, statementTimeoutMs: 0, maxConnections: 1 });
  const phases: Phase[] = [];
  const phase = async (title: string, work: () => Promise<unknown>) => {
    onProgress(title);
    const from = performance.now();
    const before = new Map(loads.map(({ systemId, attempts }) => [systemId, attempts.length]));
    await work();
    const seen = loads.map(({ systemId, attempts }) => [systemId, attempts.slice(before.get(systemId))] as const);
    phases.push({ title, ms: performance.now() - from, attempts: new Map(seen) });
  };
  const wait = () => setTimeout(seconds * 1_000);
  try {
    const [here = 0, there = 0] = await listPorts(db);
    await phase("nothing is done", wait);
    await phase("second moves to first's machine", () => moveSystem(db, "second", here, "force_logical"));
    await phase("both on one machine", wait);
    await phase("second moves back", () => moveSystem(db, "second", there, "force_logical"));
    if (commands !== undefined) {
      const run = promisify(exec);
      await phase("second's machine breaks", async () => {
        await run(commands.break);
        await wait();
      });
      await phase("it is mended", async () => {
        await run(commands.mend);
        await Promise.all(loads.map(({ workload }) => workload.ledger.requests.untilServed()));
      });
    }
    await phase("nothing is done any more", wait);
    return phases;
  } finally {
    await db.close();
  }
}
