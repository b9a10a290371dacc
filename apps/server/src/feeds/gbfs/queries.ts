import type { Transaction } from "../../db/database.ts";
import { statement } from "../../db/statement.ts";
import type { SnapshotTimes } from "../../fleet/station-parts.ts";

/** How far each feed of a source has been applied, by `last_updated` in milliseconds since 1970. */
export interface SourceTimes {
  readonly information: SnapshotTimes | undefined;
  readonly readings: SnapshotTimes | undefined;
  readonly vehiclesAt: number | undefined;
  /** What the source called its system (GBFS's `system_id`); undefined: it has never said. */
  readonly publishedId: string | undefined;
}

const addSource = statement(
  "gbfs.addSource",
  "insert into gbfs_sources (system_id, source) values ($1, $2) on conflict (system_id, source) do nothing",
);

const lockSource = statement(
  "gbfs.lockSource",
  `select information_at, status_at, previous_status_at, vehicles_at, published_id
   from gbfs_sources where system_id = $1 and source = $2 for update`,
);

const saveSource = statement(
  "gbfs.saveSource",
  `update gbfs_sources set information_at = $3::timestamptz, status_at = $4::timestamptz,
     previous_status_at = $5::timestamptz, vehicles_at = $6::timestamptz, published_id = $7
   where system_id = $1 and source = $2`,
);

/** Locks a source until the transaction ends, so that its snapshots are applied one after the other. */
export async function lockSourceTimes(tx: Transaction, systemId: string, source: string): Promise<SourceTimes> {
  type Row = Record<"information_at" | "status_at" | "previous_status_at" | "vehicles_at", Date | null> & {
    readonly published_id: string | null;
  };
  await tx.query(addSource, [systemId, source]);
  const [row] = await tx.query<Row>(lockSource, [systemId, source]);
  const informationAt = row?.information_at?.getTime();
  const readingsAt = row?.status_at?.getTime();
  return {
    // Nothing depends on the information's snapshot before the newest.
    information: informationAt === undefined ? undefined : { latest: informationAt, before: undefined },
    readings: readingsAt === undefined ? undefined : { latest: readingsAt, before: row?.previous_status_at?.getTime() },
    vehiclesAt: row?.vehicles_at?.getTime(),
    publishedId: row?.published_id ?? undefined,
  };
}

export async function saveSourceTimes(
  tx: Transaction,
  systemId: string,
  source: string,
  { information, readings, vehiclesAt, publishedId }: SourceTimes,
): Promise<void> {
  const instants = [information?.latest, readings?.latest, readings?.before, vehiclesAt];
  const times = instants.map((at) => (at === undefined ? null : new Date(at)));
  await tx.query(saveSource, [systemId, source, ...times, publishedId ?? null]);
}
