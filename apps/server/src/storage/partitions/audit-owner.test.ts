import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addSystem } from "../../city/systems/service.ts";
import { createIds } from "../../ids.ts";
import { insertAct } from "../../partners/audit/queries.ts";
import { createPartner } from "../../partners/service.ts";
import { createBackup } from "../backup/backup.ts";
import { restoreBackup } from "../backup/restore.ts";
import { openStore, type Store } from "../db/connections.ts";
import { openDatabase } from "../db/database.ts";
import { migrate } from "../db/migrate/migrate.ts";
import { statement } from "../db/statement.ts";
import { loadSecrets } from "../secrets/secrets.ts";
import { addDays, dailyTables, dayOf } from "./partition.rules.ts";
import { auditLogOwner, createFirstPartitions, createPartitionsOf, dropPastDays, emptyDefault } from "./service.ts";

let directory: string;
let store: Store;
const open = () =>
  openStore({
    auditLog: auditLogOwner,
    ...{ databaseUrl: undefined, dataDir: join(directory, "data"), statementTimeoutMs: 60_000 },
    onEmbeddedEvent: () => undefined,
    onConnectionLost: () => undefined,
  });
const clock = () => Date.now();
const ids = createIds(clock);
const audit = dailyTables.find(({ name }) => name === "audit_log");
if (audit === undefined) throw new Error("the audit log is a table by month");

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "bikeshare-audit-owner-"));
  // The state that an earlier version of the program left: the service's role owns everything.
  const server = await openEmbeddedPostgres({ dataDir: join(directory, "data"), log: () => undefined });
  const db = openDatabase(server);
  await migrate(db);
  await createFirstPartitions(db, clock);
  await addSystem({ db, clock, ids, actor: "test" }, "main", "Main");
  await db.close();
  await server.close();
  store = await open();
});
afterAll(async () => {
  await store.close();
  await rm(directory, { recursive: true });
});

const run = (text: string, values: readonly unknown[] = []) => store.db.query(statement("", text), values);
const actAt = (at: Date, id: string) =>
  insertAct(store.db, {
    ...{ systemId: "main", id, at, actor: "test", action: "test.done", subject: "none", detail: {} },
  });
const months = async () =>
  (await run("select inhrelid::regclass::text as name from pg_inherits where inhparent = 'audit_log'::regclass")).map(
    (row) => (row as { name: string }).name,
  );
const keeping = () => ({ db: store.db, clock, warn: () => undefined });

describe("in our own PostgreSQL the service's role", () => {
  const thisMonth = `audit_log_${dayOf(clock()).slice(0, 7).replace("-", "")}`;

  it("writes acts, reads them, and makes what else it needs", async () => {
    const partner = await createPartner({ db: store.db, clock, ids, actor: "test" }, "main", "Partner");
    expect(await run("select actor from audit_log where subject = $1", [partner.id])).toEqual([{ actor: "test" }]);
    await run("create table own (id integer primary key)");
    await run("vacuum (analyze) audit_log");
    await run("drop table own");
  });

  it.each(
    [
      "update T set actor = 'nobody'",
      "delete from T",
      "truncate T",
      "drop table T",
      "drop table T cascade",
      "alter table T owner to bikeshare",
      "alter table T rename to gone",
      "alter table T add column more text",
      "alter table T disable row level security",
      "grant delete on T to bikeshare",
      "create trigger t before insert on T for each row execute function suppress_redundant_updates_trigger()",
      "create rule r as on insert to T do instead nothing",
      "create policy p on T using (false)",
    ].flatMap((text) => ["audit_log", "audit_log_default", thisMonth].map((table) => text.replace("T", table))),
  )("cannot: %s", async (text) => {
    // PostgreSQL answers the grant of a right that the grantor lacks with a warning, and grants nothing.
    const outcome = await run(text).then(
      () => "done",
      (error: unknown) => String(error),
    );
    if (!text.startsWith("grant")) expect(outcome).toMatch(/must be owner of|permission denied/);
    expect(await run(`select has_table_privilege('audit_log', 'delete') as may`)).toEqual([{ may: false }]);
    expect(await months()).toEqual(expect.arrayContaining(["audit_log_default", thisMonth]));
  });

  it.each([
    `alter table audit_log detach partition ${thisMonth}`,
    "drop schema public cascade",
    "alter schema public owner to bikeshare",
    "drop database bikeshare",
    "alter database bikeshare owner to bikeshare",
    "set role bikeshare_audit",
    "grant bikeshare_audit to bikeshare",
    "drop role bikeshare_audit",
    "drop owned by bikeshare_audit",
    "reassign owned by bikeshare_audit to bikeshare",
    "drop function audit_log_drop_month(date)",
    "create or replace function audit_log_drop_month(first_day date) returns void language sql as ''",
    "alter function audit_log_delete_past(text, date, integer) security invoker",
  ])("cannot: %s", async (text) => {
    await expect(run(text)).rejects.toThrow(
      /must be owner|must be (?:able|a member)|permission denied|currently open database|objects? .* depend/,
    );
  });

  it("keeps a year whatever it asks for", async () => {
    const kept = dayOf(clock() - 300 * 86_400_000);
    await actAt(new Date(Date.parse(kept)), "act_kept");
    await run("select audit_log_drop_month($1::date)", [kept]);
    await run("select audit_log_drop_month(current_date)");
    expect(await run("select audit_log_delete_past('main', $1::date, 1000) as n", [kept])).toEqual([{ n: 0 }]);
    expect(await run("select id from audit_log where id = 'act_kept'")).toHaveLength(1);
    expect(await months()).toContain(thisMonth);
  });

  it("has the months of the log made when they come and dropped when they are past, with what lies in the default one", async () => {
    const next = addDays(dayOf(clock()), 40);
    const past = addDays(dayOf(clock()), -430);
    const nameOf = (day: string) => `audit_log_${day.slice(0, 7).replace("-", "")}`;
    await actAt(new Date(Date.parse(addDays(dayOf(clock()), -500))), "act_past");
    await store.db.transaction((tx) => createPartitionsOf(tx, audit, [next, past]));
    await actAt(new Date(Date.parse(past)), "act_of_past_month");
    expect(await months()).toEqual(expect.arrayContaining([nameOf(next), nameOf(past)]));
    await expect(run(`delete from ${nameOf(past)}`)).rejects.toThrow("permission denied");
    await dropPastDays(keeping(), audit);
    await emptyDefault(keeping(), audit);
    expect(await months()).toContain(nameOf(next));
    expect(await months()).not.toContain(nameOf(past));
    expect(await run("select id from audit_log where id like 'act_%past%'")).toEqual([]);
    expect(await run("select id from audit_log where id = 'act_kept'")).toHaveLength(1);
  });
});

it("what a migration needs is lent to it and taken back, also where the process ended between", async () => {
  const server = await openEmbeddedPostgres({ dataDir: join(directory, "data"), log: () => undefined });
  await server.asSuperuser("grant bikeshare_audit to bikeshare");
  await run("alter table audit_log add column lent text");
  await run("alter table audit_log drop column lent");
  await server.close();
  const again = await open();
  await again.close();
  await expect(run("alter table audit_log add column lent text")).rejects.toThrow("must be owner");
});

it("a backup has the log, and is restored into a database whose log has an owner of its own", async () => {
  const secretsPath = join(directory, "secrets.json");
  await loadSecrets(secretsPath, (bytes) => crypto.getRandomValues(new Uint8Array(bytes)));
  const path = join(directory, "backup.zip");
  await createBackup({ ...store.db, secretsPath, version: "1.2.3" }, path);
  const acts = await run("select id from audit_log order by id");
  const other = await openStore({
    auditLog: auditLogOwner,
    ...{ databaseUrl: undefined, dataDir: join(directory, "other"), statementTimeoutMs: 60_000 },
    onEmbeddedEvent: () => undefined,
    onConnectionLost: () => undefined,
  });
  try {
    await restoreBackup({ connectionString: other.db.connectionString, secretsPath }, path);
    expect(await other.db.query(statement("", "select id from audit_log order by id"))).toEqual(acts);
    await expect(other.db.query(statement("", "delete from audit_log"))).rejects.toThrow("permission denied");
  } finally {
    await other.close();
  }
});
