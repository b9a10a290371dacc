import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { insertImportReport } from "../src/feeds/imports/queries.ts";
import { insertAct } from "../src/partners/audit/queries.ts";
import { statement } from "../src/storage/db/statement.ts";
import { dailyTables } from "../src/storage/partitions/partition.rules.ts";
import { createFirstPartitions, dropPastDays } from "../src/storage/partitions/service.ts";
import { createTestDatabase } from "./database.ts";

/** The reason why a table does not grow without limit. */
type Bound =
  /** Its old partitions are dropped. partition.rules.ts says when. */
  | { readonly dropped: "by partition" }
  /** The statement that deletes old rows, and which rows are old. */
  | { readonly deletedBy: string; readonly when: string }
  /** It grows with the operator's business, such as the number of stations, whose data the service must keep. */
  | { readonly growsWith: string };

/** The placeholder for the table in statements that are created for several tables. */
const TABLE = "${table}";

const byPartition: Bound = { dropped: "by partition" };

/** Every table of the schema, with what limits its growth. Add new tables here. */
const bounds: Readonly<Record<string, Bound>> = {
  systems: { growsWith: "systems" },
  partners: { growsWith: "partners; a removed one keeps its row, so that its id is never given again" },
  keys: {
    deletedBy: "keys.removeEndedOwn",
    when: "a partner's own people made them and they ended 30 days ago; those that the operator issued stay, revoked",
  },
  vehicle_types: { growsWith: "vehicle types" },
  regions: { growsWith: "regions" },
  audit_log: byPartition,
  placed_systems: { growsWith: "systems" },
  key_holders: { deletedBy: "keyHolders.deleteDead", when: "a process has given no sign of life" },
  api_processes: { deletedBy: "apiProcesses.deleteDead", when: "a process has given no sign of life" },
  work_failures: { deletedBy: "work.deleteFailures", when: "a try of the unit succeeds" },
  work_runs: { deletedBy: "work.deleteRun", when: "the run ends, or the next process finds it left behind" },
  stations: { growsWith: "stations" },
  station_changes: byPartition,
  vehicle_events: byPartition,
  mds_providers: { growsWith: "systems" },
  agencies: { growsWith: "agencies" },
  sandboxes: { growsWith: "partners, of which each has one at most" },
  mds_trip_days: { growsWith: "days of the months whose reports were read" },
  bikes: { growsWith: "bikes; those of feeds whose ids rotate are deleted when they are gone" },
  rides: { growsWith: "rides" },
  reservations: { growsWith: "reservations" },
  reservation_quotas: { growsWith: "partners" },
  removed_bikes: { deletedBy: "changes.deletePastRemovedBikes", when: "7 days have passed" },
  retired_public_ids: { deletedBy: "publicIds.deletePast", when: "10 minutes have passed" },
  change_resets: { growsWith: "lists" },
  list_counts: { growsWith: "lists: 16 rows for each" },
  ride_counts: { growsWith: "hours in which a ride started: 8,784 rows a year" },
  station_hours: { deletedBy: `sums.deletePast.${TABLE}`, when: "13 months have passed" },
  flow_days: { deletedBy: `sums.deletePast.${TABLE}`, when: "13 months have passed" },
  ride_quarters: { deletedBy: `sums.deletePast.${TABLE}`, when: "5 years have passed" },
  fleet_samples: { deletedBy: `sums.deletePast.${TABLE}`, when: "5 years have passed" },
  sum_progress: { growsWith: "systems" },
  sum_marks: { deletedBy: "sums.takeMarks", when: "the hour is summed" },
  flow_marks: { deletedBy: "sums.takeFlowMark", when: "the day's flows are summed" },
  event_outbox: { deletedBy: "sequencer.move", when: "the sequencer has numbered them" },
  events: byPartition,
  event_sequences: { growsWith: "systems" },
  event_counts: { deletedBy: `partitions.deleteDay.${TABLE}`, when: "the day's events are dropped" },
  idempotency_keys: { deletedBy: "idempotency.forget", when: "24 h have passed" },
  gbfs_sources: { growsWith: "sources" },
  gbfs_pending_station_parts: {
    deletedBy: "stationSnapshot.deletePending",
    when: "the other part arrives; a source has 50,000 at most",
  },
  gbfs_feed_health: { growsWith: "feeds of followed sources" },
  gbfs_source_health: { growsWith: "followed sources" },
  gbfs_descriptions: { growsWith: "feeds of sources" },
  descriptions: { growsWith: "what the operator describes: stations, bikes, types, regions and plans" },
  gbfs_documents: { growsWith: "feeds of sources" },
  gbfs_publications: { growsWith: "published feeds and their languages" },
  imports: { growsWith: "imports that wrote something" },
  running_imports: {
    deletedBy: "runningImports.deleteDead",
    when: "they have given no sign of life, and another one does",
  },
  import_reports: { deletedBy: "importReports.deletePast", when: "there are 100 newer ones" },
  trip_uploads: { deletedBy: "uploads.deletePast", when: "nothing came for 15 minutes, or it ended a day ago" },
  trip_upload_parts: { deletedBy: "uploads.deletePast", when: "the upload's row is deleted, or it ended" },
  import_overlaps: { growsWith: "pairs of imports of the same rides" },
  webhook_endpoints: { growsWith: "partners" },
  webhook_secrets: { deletedBy: "secrets.deleteEnded", when: "the overlap is over" },
  webhook_encryption_keys: { growsWith: "keys of the secrets file" },
  webhook_lanes: { growsWith: "endpoints" },
  webhook_workers: { deletedBy: "lane.deleteDead", when: "a process has given no sign of life" },
  webhook_bodies: byPartition,
  webhook_deliveries: byPartition,
  webhook_queue: { deletedBy: `partitions.deleteBatch.${TABLE}`, when: "they are sent, or their day is dropped" },
  webhook_attempts: byPartition,
  webhook_replays: { deletedBy: "replays.deletePast", when: "30 days have passed since their end" },
  webhook_replay_items: { deletedBy: "replays.deleteItems", when: "they are queued, or their day is dropped" },
  webhook_station_notices: { growsWith: "stations" },
  webhook_thresholds: { growsWith: "endpoints: at most 20 for each" },
  webhook_threshold_states: { growsWith: "stations that thresholds watch: at most 5,000 for each endpoint" },
  webhook_threshold_stations: { growsWith: "stations" },
  webhook_mails: { deletedBy: "mails.remove", when: "they are sent or given up" },
  alerts: { deletedBy: "alerts.delete", when: "nothing was found for a day" },
  rider_alerts: { deletedBy: "riderAlerts.deletePast", when: "90 days have passed since their end" },
  exports: { deletedBy: "exports.deletePast", when: "they failed 30 days ago, or their schedule keeps them no longer" },
  export_schedules: { growsWith: "schedules: at most 20 of a system" },
  check_acknowledgements: { deletedBy: "checkAcknowledgements.deleteEnded", when: "what was found is over" },
  operator_mails: { deletedBy: "operatorMails.delete", when: "they are sent or given up" },
  webhook_log_sizes: { deletedBy: "logSizes.deletePast", when: "the day's attempts are dropped" },
  people: { growsWith: "people who sign in" },
  memberships: { growsWith: "people who sign in" },
  invitations: { deletedBy: "invitations.deletePast", when: "they expired 30 days ago" },
  passkeys: { growsWith: "people who sign in" },
  recovery_codes: { growsWith: "people who sign in" },
  identities: { growsWith: "people who sign in" },
  used_challenges: { deletedBy: "challenges.deleteExpired", when: "they would have expired" },
  sessions: { deletedBy: "sessions.deleteExpired", when: "they end, or their person signs in again" },
  dashboard_links: { deletedBy: "dashboardLinks.deleteExpired", when: "they expire" },
  replication_tokens: { growsWith: "nothing: it has one row" },
  request_log: byPartition,
  key_usage_minutes: byPartition,
  key_usage_days: { deletedBy: "requests.deleteDays", when: "the retention of usage is over" },
};

let database: Awaited<ReturnType<typeof createTestDatabase>>;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.close());

describe("the database", () => {
  it("has no table that could grow for ever: each says what bounds it", async () => {
    const tables = statement(
      "",
      `select relname::text as name from pg_class
       where relkind in ('r', 'p') and not relispartition and relnamespace = current_schema()::regnamespace
         and relname <> 'migrations' order by 1`,
    );
    const names = (await database.db.query<{ name: string }>(tables)).map(({ name }) => name);
    expect(Object.keys(bounds).toSorted()).toEqual(names.toSorted());
  });

  it("drops the partitions of exactly the tables that say so", async () => {
    const partitioned = statement("", "select relname::text as name from pg_class where relkind = 'p' order by 1");
    const names = (await database.db.query<{ name: string }>(partitioned)).map(({ name }) => name);
    expect(dailyTables.map(({ name }) => name).toSorted()).toEqual(names);
    expect(
      Object.keys(bounds)
        .filter((name) => bounds[name] === byPartition)
        .toSorted(),
    ).toEqual(names);
  });

  it("has the statements that delete what is past", () => {
    const source = join(import.meta.dirname, "../src");
    const files = globSync("**/*queries.ts", { cwd: source }).map((file) => readFileSync(join(source, file), "utf8"));
    const code = files.join("\n");
    for (const [table, bound] of Object.entries(bounds)) {
      if (!("deletedBy" in bound)) continue;
      const [, text = ""] = code.split(new RegExp(`["\`]${RegExp.escape(bound.deletedBy)}["\`],`));
      const [itself = ""] = text.split("statement(");
      // One template makes the statements for all tables that are partitioned by day.
      const target = bound.deletedBy.endsWith(TABLE) ? TABLE : table;
      expect(itself, `${table}: ${bound.deletedBy}`).toMatch(new RegExp(`delete from ${RegExp.escape(target)}\\s`));
    }
  });

  it("keeps acts for a year, by the month; until then nobody who runs the service can take one back", async () => {
    const { db, systemId } = database;
    const [audit] = dailyTables.filter(({ name }) => name === "audit_log");
    if (audit === undefined) throw new Error("no audit log");
    let now = Date.parse("2026-06-30T23:59:59.999Z");
    const clock = () => now;
    const acts = async () =>
      (
        await db.query<{ id: string }>(statement("", "select id from audit_log where id like 'act_of_%' order by at"))
      ).map(({ id }) => id);
    const act = (id: string) => ({
      systemId,
      id,
      at: new Date(now),
      actor: "cli:test",
      action: "x",
      subject: "y",
      detail: {},
    });
    await createFirstPartitions(db, clock);
    await insertAct(db, act("act_of_june"));
    now += 1;
    await insertAct(db, act("act_of_july"));
    for (const text of [
      "delete from audit_log_202606",
      "update audit_log_202606 set id = 'x'",
      "truncate audit_log_202606",
    ])
      await expect(db.query(statement("", text))).rejects.toThrow("permission denied");
    now = Date.parse("2027-07-01T12:00:00Z");
    await dropPastDays({ db, clock, warn: () => undefined }, audit);
    expect(await acts()).toEqual(["act_of_june", "act_of_july"]);
    now = Date.parse("2027-07-02T00:00:00Z");
    await dropPastDays({ db, clock, warn: () => undefined }, audit);
    expect(await acts()).toEqual(["act_of_july"]);
  });

  it("keeps the reports of the newest 100 imports", async () => {
    const { db, systemId } = database;
    const insertImports = `insert into imports (system_id, id, kind, source, at, status, detail)
      select $1, 'import_' || n, 'gbfs', 'gbfs', now() + n * interval '1 second', 'done', '{}' from generate_series(1, 101) n`;
    await db.query(statement("", insertImports), [systemId]);
    for (let n = 1; n <= 101; n++) await insertImportReport(db, systemId, `import_${n}`, { reasons: {}, first: [] });
    const oldest = statement(
      "",
      "select count(*)::int as n, bool_or(import_id = 'import_1') as has_oldest from import_reports where system_id = $1",
    );
    expect(await db.query(oldest, [systemId])).toEqual([{ n: 100, has_oldest: false }]);
  });
});
