import {
  describeErrors,
  type Figures,
  figuresOf,
  startWorkload,
  verifyWorkload,
  type Workload,
  type WorkloadReport,
} from "@bikeshare/load";
import { type BadDaysWorld, type BadDaysWorldOptions, openBadDaysWorld } from "../../test/bad-days/world.ts";

/** One thing that goes wrong under load, and is right again afterwards. */
export interface BadDay {
  /** What it needs beside the usual deployment; removed by its `close`. */
  prepare(): Promise<BadDaySetting>;
}

export interface BadDaySetting {
  readonly world?: Partial<BadDaysWorldOptions>;
  /** Does it, and waits until all is well again. */
  happen(stage: Stage): Promise<void>;
  close?(): Promise<void>;
}

/** What a bad day acts on. */
export interface Stage {
  readonly world: BadDaysWorld;
  readonly workload: Workload;
  /** A line of the report. */
  readonly note: (line: string) => void;
  /** A line that makes the run fail unless it is true. */
  readonly expect: (isTrue: boolean, line: string) => void;
  /** What came of the requests since the last call, by error. */
  readonly errors: () => string;
}

export interface BadDayReport {
  readonly workload: WorkloadReport;
  readonly figures: Figures;
  /** What `bikeshare check` finds wrong. */
  readonly check: string;
  /** Bounds that did not hold. */
  readonly broken: readonly string[];
  /** What the service logged, by message, with the number of lines. */
  readonly logged: ReadonlyMap<string, number>;
}

export interface BadDayOptions {
  readonly requestsPerSecond: number;
  readonly seed: number;
  readonly onProgress: (line: string) => void;
}

const CLIENTS = { riders: 8, holders: 8, readers: 6 };
/** Of what is read and written: so long after its cause is gone the service may still be away. */
export const BACK_WITHIN_MS = 5_000;

/** Lives through a bad day under load, and compares what is there with what was acknowledged. */
export async function runBadDay(day: BadDay, options: BadDayOptions): Promise<BadDayReport> {
  const { requestsPerSecond, seed, onProgress } = options;
  const setting = await day.prepare();
  const { riders, holders } = CLIENTS;
  const expiringShare = 0.05;
  try {
    const world = await openBadDaysWorld({
      ...{ apis: 2, workers: 2, riders, holders, answerMs: 10, isLogged: true },
      ...setting.world,
    });
    try {
      const { system, balancer, receiver } = world;
      const base = balancer.url;
      const workload = startWorkload({ base, system, ...CLIENTS, requestsPerSecond, expiringShare, seed });
      const { requests } = workload.ledger;
      await requests.untilServed();
      const broken: string[] = [];
      let errorsSince = performance.now();
      await setting.happen({
        world,
        workload,
        note: onProgress,
        expect: (isTrue, line) => {
          onProgress(isTrue ? line : `BROKEN: ${line}`);
          if (!isTrue) broken.push(line);
        },
        errors: () => {
          const figures = figuresOf(requests.attempts, errorsSince);
          errorsSince = performance.now();
          return describeErrors(figures);
        },
      });
      await Promise.all([...world.apis, ...world.workers].map((each) => each.untilUp()));
      await workload.stop();
      const figures = figuresOf(requests.attempts);
      const { ledger } = workload;
      const report = await verifyWorkload({ base, partnerKeys: system.partnerKeys, ledger, receiver });
      const logged = countMessages(await world.log());
      return { workload: report, figures, check: await world.check(), broken, logged };
    } finally {
      await world.close();
    }
  } finally {
    await setting.close?.();
  }
}

/** Waits until reads and writes are answered that were sent from now on, and says how long that took. */
export async function expectBack({ workload, expect, errors }: Stage, after: string): Promise<void> {
  const backMs = Math.round(await workload.ledger.requests.untilServed());
  expect(backMs < BACK_WITHIN_MS, `back ${backMs} ms after ${after}; meanwhile ${errors()}`);
}

function countMessages(log: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const line of log.split("\n").filter(Boolean)) {
    const message = messageOf(line);
    counts.set(message, (counts.get(message) ?? 0) + 1);
  }
  return counts;
}

function messageOf(line: string): string {
  try {
    return (JSON.parse(line) as { msg?: string }).msg ?? line;
  } catch {
    // A process that could not start says so in plain text.
    return line;
  }
}
