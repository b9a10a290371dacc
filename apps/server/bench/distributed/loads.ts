import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { createLedger } from "../workload/ledger.ts";
import { type Attempt, createRequests } from "../workload/requests.ts";
import { verifyWorkload } from "../workload/verify.ts";
import { startWorkload, type Workload } from "../workload/workload.ts";
import { HOLDERS, type LoadedSystem, RIDERS } from "./systems.ts";

/** The load on one system. */
export interface SystemLoad extends LoadedSystem {
  readonly workload: Workload;
  /** Every attempt so far, in the order of its end. */
  readonly attempts: readonly Attempt[];
}

interface LoadsOptions {
  readonly base: () => string;
  readonly systems: readonly LoadedSystem[];
  readonly requestsPerSecond: number;
  readonly seed: number;
}

const READERS = 3;
const MAIN = join(import.meta.dirname, "../../src/main.ts");

export function startLoads({ base, systems, requestsPerSecond, seed }: LoadsOptions): readonly SystemLoad[] {
  return systems.map((system, index) => {
    const attempts: Attempt[] = [];
    const ledger = createLedger(createRequests(base, { onAttempt: (attempt) => void attempts.push(attempt) }));
    const workload = startWorkload({
      ...{ base, system: system.prepared, ledger, requestsPerSecond, seed: seed + index },
      ...{ riders: RIDERS, holders: HOLDERS, readers: READERS },
    });
    return { ...system, workload, attempts };
  });
}

/** Ends the loads. @returns what is wrong with what they leave */
export async function verifyLoads(
  loads: readonly SystemLoad[],
  base: () => string,
  env: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  await Promise.all(loads.map(({ workload }) => workload.stop()));
  const failures: string[] = [];
  for (const { systemId, prepared, receiver, workload } of loads) {
    const report = await verifyWorkload({ base: base(), system: prepared, ledger: workload.ledger, receiver });
    const { rides, reservations, events, repeated } = report;
    process.stdout.write(
      `${systemId}: ${rides} rides, ${reservations} reservations, ${events} deliveries, ${repeated} repeated\n`,
    );
    failures.push(...report.failures.map((failure) => `${systemId}: ${failure}`));
    failures.push(...(await check(systemId, env)));
  }
  return failures;
}

/** What `bikeshare check` finds wrong. */
function check(systemId: string, env: Readonly<Record<string, string>>): Promise<string[]> {
  const args = ["--conditions=@bikeshare/source", MAIN, "--system", systemId, "check"];
  return promisify(execFile)(process.execPath, args, { env: { ...process.env, ...env } }).then(
    () => [],
    (error: unknown) => [(error as { stdout?: string }).stdout ?? String(error)],
  );
}
