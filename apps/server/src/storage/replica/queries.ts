import type { QueryRunner } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { IS_DISTRIBUTED } from "../db/sql-fragments.ts";
import { statement } from "../db/statement.ts";

/**
 * A position in the write-ahead log up to which a primary has written durably. Every acknowledged commit is before it, except
 * those with `synchronous_commit = off`.
 */
export interface WrittenPosition {
  /** The position in bytes of the write-ahead log. */
  readonly lsn: number;
  /** The latest token: each of our processes writes a new one when it connects to the primary; null: none was written. */
  readonly token: string | null;
}

/** The position up to which a replica has replayed the log. Later reads see everything before this position. */
export interface ReplayedPosition {
  /** The position in bytes of the write-ahead log; null on a server that has never been a replica. */
  readonly lsn: number | null;
  readonly token: string | null;
  /** False if the server is a primary, for example because it was promoted. */
  readonly isReplica: boolean;
}

/** Settings of a primary that decide whether its written position proves that a replica is current. */
export interface PrimarySettings {
  /** Whether a commit is acknowledged before it is written. */
  readonly isAsynchronous: boolean;
  /** Whether rows are on other servers, whose positions the primary does not know. */
  readonly isDistributed: boolean;
}

const token = "(select token from replication_tokens) as token";

const written = statement(
  "replica.written",
  `select pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint as lsn, ${token}`,
);

const replayed = statement(
  "replica.replayed",
  `select pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint as lsn, ${token},
     pg_is_in_recovery() as "isReplica"`,
);

const settings = statement(
  "replica.settings",
  `select current_setting('synchronous_commit') = 'off' as "isAsynchronous",
     ${IS_DISTRIBUTED} as "isDistributed"`,
);

const setToken = statement(
  "replica.setToken",
  "insert into replication_tokens (id, token) values (1, $1) on conflict (id) do update set token = excluded.token",
);

/** Returns the position that a primary has written. Fails on a replica. */
export async function findWrittenPosition(db: QueryRunner): Promise<WrittenPosition> {
  return oneRow(await db.query<WrittenPosition>(written));
}

/** Returns the position that a server has replayed. */
export async function findReplayedPosition(db: QueryRunner): Promise<ReplayedPosition> {
  return oneRow(await db.query<ReplayedPosition>(replayed));
}

/** Returns the settings of a primary that reads from its replicas depend on. */
export async function findPrimarySettings(db: QueryRunner): Promise<PrimarySettings> {
  return oneRow(await db.query<PrimarySettings>(settings));
}

/** Writes a new token. A server with the same token must have replayed this write. */
export async function updateToken(db: QueryRunner, value: string): Promise<void> {
  await db.query(setToken, [value]);
}
