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

/** A temporary fault under load. */
export interface BadDay {
  /** Prepares the deployment. `close` of the result removes what it adds. */
  prepare(): Promise<BadDaySetting>;
}

/** A prepared fault. */
export interface BadDaySetting {
  /** What the deployment has that others have not, such as another database. */
  readonly world?: Partial<BadDaysWorldOptions>;
  /** Causes the fault, and waits until everything works again. */
  happen(stage: Stage): Promise<void>;
  close?(): Promise<void>;
}

/** The deployment that a fault affects. */
export interface Stage {
  /** The processes: PostgreSQL, the service's processes, a balancer in front of them, and a receiver of webhooks. */
  readonly world: BadDaysWorld;
  readonly workload: Workload;
  /** Adds a line to the report. */
  readonly note: (line: string) => void;
  /** Adds a line to the report, and fails the run unless the condition is true. */
  readonly expect: (isTrue: boolean, line: string) => void;
  /** Describes the failed requests since the last call, by error. */
  readonly errors: () => string;
}

/** What the fault did to callers and data. */
export interface BadDayReport {
  readonly workload: WorkloadReport;
  readonly figures: Figures;
  /** The violations that `bikeshare check` finds; empty: none. */
  readonly check: string;
  /** The bounds that the day violated. */
  readonly broken: readonly string[];
  /** The messages that the service logged, with their numbers. */
  readonly logged: ReadonlyMap<string, number>;
}

export interface BadDayOptions {
  readonly requestsPerSecond: number;
  readonly seed: number;
  readonly onProgress: (line: string) => void;
}

/** The numbers of clients that ride, that reserve bikes, and that read lists. */
const CLIENTS = { riders: 8, holders: 8, readers: 6 };
/** The share of reservations that the clients let expire. */
const EXPIRING_SHARE = 0.05;
/** Milliseconds that the receiver of webhooks takes for a response. */
const RECEIVER_DELAY_MS = 10;
/** Maximum outage of reads and writes after the fault has ended or, for a restart, has begun. */
export const BACK_WITHIN_MS = 5_000;

/** Runs a fault under load, and compares the data with the acknowledged results. */
export async function runBadDay(day: BadDay, options: BadDayOptions): Promise<BadDayReport> {
  const { requestsPerSecond, seed, onProgress } = options;
  const setting = await day.prepare();
  const { riders, holders } = CLIENTS;
  try {
    const world = await openBadDaysWorld({
      apis: 2,
      workers: 2,
      riders,
      holders,
      answerMs: RECEIVER_DELAY_MS,
      isLogged: true,
      ...setting.world,
    });
    try {
      const { system, balancer, receiver } = world;
      const base = balancer.url;
      const workload = startWorkload({
        base,
        system,
        ...CLIENTS,
        requestsPerSecond,
        expiringShare: EXPIRING_SHARE,
        seed,
      });
      // The record of all requests, and of what the service has acknowledged.
      const { ledger } = workload;
      await ledger.requests.untilServed();
      const broken: string[] = [];
      await setting.happen(createStage(world, workload, broken, onProgress));
      await Promise.all([...world.apis, ...world.workers].map((each) => each.untilUp()));
      await workload.stop();
      const figures = figuresOf(ledger.requests.attempts);
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

/** Returns the stage of a fault. @param broken gets the lines of the conditions that are not true */
function createStage(
  world: BadDaysWorld,
  workload: Workload,
  broken: string[],
  onProgress: (line: string) => void,
): Stage {
  let errorsSince = performance.now();
  return {
    world,
    workload,
    note: onProgress,
    expect: (isTrue, line) => {
      onProgress(isTrue ? line : `BROKEN: ${line}`);
      if (!isTrue) broken.push(line);
    },
    errors: () => {
      const figures = figuresOf(workload.ledger.requests.attempts, errorsSince);
      errorsSince = performance.now();
      return describeErrors(figures);
    },
  };
}

/** Waits until later reads and writes succeed, and reports how long that takes. */
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
    // A process that cannot start reports it in plain text.
    return line;
  }
}
