import { startPeriodic } from "../background/periodic.ts";
import { askTogether } from "../background/within.ts";
import type { QueryRunner } from "../db/database.ts";
import { codeOf, sqlState } from "../db/errors.ts";
import { createPipelinedConnection } from "../db/pipelined-connection.ts";
import { keepPlans, READ_CONNECTIONS, type ReadPool } from "../db/read-pool.ts";
import type { StatementObserver } from "../db/statement.ts";
import type { RunFiltered } from "../lists/read-context.ts";
import { findPrimarySettings, findWrittenPosition, updateToken, type WrittenPosition } from "./queries.ts";
import {
  type LeftOut,
  openReplicaConnection,
  type ReplicaConnection,
  type ReplicaConnectionOptions,
} from "./replica-connection.ts";

/*
 * Lets reads go to a replica while it shows every commit that the primary has acknowledged. Each read first asks the primary
 * for its written position and waits briefly until the replica has replayed it. A connection that does not get there is left
 * out, and the primary answers. Quick reads share connections; a filtered read may take long, so it has one to itself. A
 * token, which our processes write on the primary, shows that the replica follows this primary (replica.rules.ts).
 */

/**
 * Whether the replica answered a read, or why the primary did: no connection to the replica could be used (`left_out`), the
 * primary did not tell its position or the replica did not replay it in time (`behind`), or its statement failed (`failed`).
 */
export const READ_OUTCOMES = ["replica", "left_out", "behind", "failed"] as const;
export type ReadOutcome = (typeof READ_OUTCOMES)[number];

/** The replica, and the connections to the primary for reads that it does not answer. */
export interface ReplicaReadsOptions {
  readonly replica: Replica;
  /** Runs short reads on the primary. */
  readonly readPool: ReadPool;
  /** Runs reads that may take long on the primary. */
  readonly filtered: QueryRunner;
  readonly onRead: (outcome: ReadOutcome) => void;
}

/** Reads from a replica if it shows all commits that the primary has acknowledged, and otherwise from the primary. */
export function createReplicaReads(options: ReplicaReadsOptions): {
  readonly readPool: ReadPool;
  readonly runFiltered: RunFiltered;
} {
  const { replica, readPool, onRead } = options;

  const isCurrent = async (connection: ReplicaConnection): Promise<boolean> => {
    if (await replica.isCurrent(connection)) return true;
    onRead("behind");
    return false;
  };
  /** @throws the same error if the statement would fail on the primary as well */
  const noteFailure = (connection: ReplicaConnection, error: unknown): void => {
    // A statement that is too slow on the replica is too slow on the primary as well.
    if (codeOf(error) === sqlState.queryCanceled) throw error;
    connection.failed(error);
    onRead("failed");
  };

  const read: ReadPool["read"] = async <Row>(...sent: Parameters<ReadPool["read"]>) => {
    const connection = replica.findForQuickRead();
    if (connection === undefined) onRead("left_out");
    if (connection === undefined || !(await isCurrent(connection))) return readPool.read<Row>(...sent);
    try {
      const rows = await connection.query<Row>(...sent);
      onRead("replica");
      return rows;
    } catch (error) {
      noteFailure(connection, error);
      return readPool.read<Row>(...sent);
    }
  };

  const runFiltered: RunFiltered = async (work) => {
    const connection = replica.reserveForFilteredRead();
    if (connection === undefined) {
      onRead("left_out");
      return work(options.filtered);
    }
    try {
      if (await isCurrent(connection)) {
        const result = await tryOn(connection, work, (error) => noteFailure(connection, error));
        if (result !== undefined) {
          onRead("replica");
          return result.value;
        }
      }
    } finally {
      replica.release(connection);
    }
    return work(options.filtered);
  };
  // The caller closes the replica and the primary's pool.
  return { readPool: { read, close: () => Promise.resolve() }, runFiltered };
}

/** Runs work on a connection. @returns undefined when one of its statements failed; other errors are thrown */
async function tryOn<Result>(
  connection: QueryRunner,
  work: (db: QueryRunner) => Promise<Result>,
  onFailed: (error: unknown) => void,
): Promise<{ readonly value: Result } | undefined> {
  const failures = new Set<unknown>();
  const query: QueryRunner["query"] = <Row>(...sent: Parameters<QueryRunner["query"]>) =>
    connection.query<Row>(...sent).catch((error: unknown) => {
      failures.add(error);
      throw error;
    });
  try {
    return { value: await work({ query }) };
  } catch (error) {
    if (!failures.has(error)) throw error;
    onFailed(error);
    return undefined;
  }
}

/** Whether the replica is used, and how late its data may be. */
export interface ReplicaStatus {
  /** The reason why the replica is left out; undefined while it is used. */
  readonly leftOut: LeftOut | { readonly reason: "primary"; readonly detail: string } | undefined;
  /** The maximum age of the replica's data. Measured every 250 ms: normally below half a second. */
  readonly lagMs: number;
}

/** This process's connections to the replica, and whether they can be read from. */
export interface Replica {
  /** Returns a connection for a quick read, each time the next one; undefined when all are left out. */
  findForQuickRead(): ReplicaConnection | undefined;
  /**
   * Returns a connection for a read that may take long; undefined when all are left out or in use. No other read gets it
   * until it is released.
   */
  reserveForFilteredRead(): ReplicaConnection | undefined;
  release(connection: ReplicaConnection): void;
  /** Whether a connection shows all commits that were acknowledged before this call. */
  isCurrent(connection: ReplicaConnection): Promise<boolean>;
  readonly status: () => ReplicaStatus;
  close(): Promise<void>;
}

export interface ReplicaOptions {
  readonly primaryUrl: string;
  /** One server, or a balancer in front of several. */
  readonly replicaUrl: string;
  /** The settings of the connections for reads that may take long. */
  readonly filtered: FilteredSettings;
  readonly observer: StatementObserver | undefined;
  /** Returns a unique text. */
  readonly newToken: () => string;
  /** Receives the status four times a second. */
  readonly onStatus: (status: ReplicaStatus) => void;
  readonly monotonic: () => number;
}

/** The settings of the connections for filtered reads. */
interface FilteredSettings {
  readonly connections: number;
  readonly sessionOptions: string;
  readonly statementTimeoutMs: number;
}

/** Between two checks of the replica. Too high: a recovered replica is used later. Too low: keeps idle servers busy. */
const EXAMINE_INTERVAL_MS = 250;
/** Generous: quick reads take milliseconds. */
const READ_STATEMENT_TIMEOUT_MS = 2_000;

/** Opens the connections to the replica and examines them regularly. The replica is used once it has answered. */
export function openReplica(options: ReplicaOptions): Replica {
  const { quick, filtered } = openConnections(options);
  const all = [...quick, ...filtered];
  const primary = openPrimary(options);
  /** The connections on which a read that may take long is running. Other reads on them would wait for it. */
  const busy = new Set<ReplicaConnection>();
  let turn = 0;

  const isUsed = (connection: ReplicaConnection) =>
    primary.failure() === undefined && connection.leftOut() === undefined;
  const status = (): ReplicaStatus => {
    // Each connection gives an upper bound of the age. The smallest is the best known one; behind a balancer, it is that of the
    // most current server.
    const lagMs = Math.min(...quick.map((each) => each.lagMs()));
    const failure = primary.failure();
    if (failure !== undefined) return { leftOut: { reason: "primary", detail: failure }, lagMs };
    return { leftOut: quick.some(isUsed) ? undefined : quick[0]?.leftOut(), lagMs };
  };
  const examining = startPeriodic({
    intervalMs: EXAMINE_INTERVAL_MS,
    immediately: true,
    work: async () => {
      const position = await primary.position();
      const idle = all.filter((each) => !busy.has(each));
      if (position !== undefined) await Promise.all(idle.map((each) => each.examine(position)));
      options.onStatus(status());
    },
    // `position` and `examine` keep their failures, as the reason why the replica is left out.
    onError: () => undefined,
  });
  return {
    findForQuickRead: () => {
      turn = (turn + 1) % quick.length;
      const next = quick[turn];
      return next !== undefined && isUsed(next) ? next : quick.find(isUsed);
    },
    reserveForFilteredRead: () => {
      const connection = filtered.find((each) => isUsed(each) && !busy.has(each));
      if (connection !== undefined) busy.add(connection);
      return connection;
    },
    release: (connection) => void busy.delete(connection),
    isCurrent: async (connection) => {
      const position = await primary.position();
      return position !== undefined && connection.reach(position);
    },
    status,
    close: async () => {
      await examining.close();
      await Promise.all([primary, ...all].map((each) => each.close()));
    },
  };
}

/** Asks the primary for its position. */
function openPrimary({ primaryUrl, newToken }: ReplicaOptions) {
  const positions = openWrittenPositions({ connectionString: primaryUrl, newToken });
  let failure: string | undefined;
  return {
    /** Returns the position; undefined: the primary could not be asked. */
    position: async (): Promise<WrittenPosition | undefined> => {
      try {
        const position = await positions.current();
        failure = undefined;
        return position;
      } catch (error) {
        failure = error instanceof Error ? error.message : String(error);
        return undefined;
      }
    },
    /** Returns the error of the latest query; undefined when it succeeded. */
    failure: () => failure,
    close: () => positions.close(),
  };
}

/** Opens the connections to the replica: those that quick reads share, and those for one filtered read at a time. */
function openConnections({ replicaUrl, observer, monotonic, filtered }: ReplicaOptions) {
  const open = (
    count: number,
    settings: Omit<FilteredSettings, "connections"> & Pick<ReplicaConnectionOptions, "onConnect">,
  ) =>
    Array.from({ length: count }, () =>
      openReplicaConnection({ connectionString: replicaUrl, observer, monotonic, ...settings }),
    );
  return {
    quick: open(READ_CONNECTIONS, {
      sessionOptions: "",
      onConnect: keepPlans,
      statementTimeoutMs: READ_STATEMENT_TIMEOUT_MS,
    }),
    filtered: open(filtered.connections, filtered),
  };
}

/**
 * Asks the primary for its written position. A replica that has replayed this position shows every commit that was
 * acknowledged, in any process, before the question.
 */
interface WrittenPositions {
  /** Returns a position that the primary had after this call began. Calls that wait at the same time share a statement. */
  current(): Promise<WrittenPosition>;
  close(): Promise<void>;
}

interface WrittenPositionsOptions {
  readonly connectionString: string;
  /** Returns a unique text. */
  readonly newToken: () => string;
}

/** Reads wait for the statement, which takes some 50 µs. */
const STATEMENT_TIMEOUT_MS = 1_000;

/** Connects at the first call. Writes a new token at each connect, because the address may lead to another server now. */
function openWrittenPositions({ connectionString, newToken }: WrittenPositionsOptions): WrittenPositions {
  const connection = createPipelinedConnection({
    connectionString,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    onConnect: async (query) => {
      const { isAsynchronous, isDistributed } = await findPrimarySettings({ query });
      if (isAsynchronous) throw new ReplicaUnusable(ASYNCHRONOUS);
      if (isDistributed) throw new ReplicaUnusable(DISTRIBUTED);
      await updateToken({ query }, newToken());
    },
  });
  return { current: askTogether(() => findWrittenPosition(connection)), close: () => connection.close() };
}

/** The primary has settings with which its replicas cannot be read from. */
class ReplicaUnusable extends Error {
  override readonly name = "ReplicaUnusable";
}

const ASYNCHRONOUS =
  "synchronous_commit is off on the primary, so that what it has written says nothing about what it has acknowledged. Set it to on";
const DISTRIBUTED =
  "the database is distributed by Citus, whose rows lie on servers that DATABASE_REPLICA_URL does not name. Unset it";
