import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readMigrationFiles } from "../../../../tools/migration-files.ts";
import { checksumOf, lintMigrations, type Release } from "../../../../tools/migration-lint.ts";

const base = await readMigrationFiles();
const release = (version: string, files: readonly { readonly name: string; readonly sql: string }[]): Release => ({
  version,
  migrations: Object.fromEntries(files.map(({ name, sql }) => [name, checksumOf(sql)])),
});
const releases = [release("1.0.0", base), release("1.1.0", [])];
const HEADER = "-- oldest program: 1.1.0\n";
const lint = (sql: string) => lintMigrations([...base, { name: "0099_added.sql", sql }], releases);

test("the migrations since the last release let a service go on meanwhile, and released ones are as they were", async () => {
  const recorded = await readFile(join(import.meta.dirname, "../../../../releases.json"), "utf8");
  expect(lintMigrations(base, JSON.parse(recorded) as Release[])).toEqual([]);
});

test("before the first release every file may be edited", () => {
  expect(lintMigrations([{ name: "0001_a.sql", sql: "drop table rides" }], [])).toEqual([]);
});

test.each([
  ["alter table rides add column x text not null default gen_random_uuid()", "add a column without it"],
  ["alter table rides add column x integer check (x > 0)", "add it `not valid`"],
  ["alter table rides add column x integer not null", "needs a default"],
  ["alter table rides add column x text generated always as (id || 'x') stored", "add a column without it"],
  ["alter table rides alter column distance_meters type bigint", "add a column without it"],
  ["alter table rides alter column end_reason set not null", "add `check (… is not null) not valid`"],
  ["alter table rides add constraint x check (distance_meters < 1000000)", "add it `not valid`"],
  ["alter table rides add foreign key (system_id) references systems (system_id)", "add it `not valid`"],
  ["alter table rides add constraint x unique (system_id, json)", "create unique index concurrently"],
  ["create index x on rides (system_id, distance_meters)", "write `concurrently`"],
  ["create index x on audit_log (system_id, detail)", "write `concurrently`"],
  ["create index concurrently x on rides (system_id, distance_meters)", "mark it `-- step: autocommit`"],
  ["drop index rides_updated_at", "write `concurrently`"],
  ["update rides set distance_meters = 0", "write `-- step: backfill <table>`"],
  [
    "alter table rides add constraint x check (true) not valid; alter table rides validate constraint x",
    "step of its own",
  ],
  ["alter table rides cluster on rides_pkey", "does not know: add it there"],
  ["-- step: autocommit\nalter table rides add column x text", "mark it `-- step: transaction`"],
])("%s is refused, with what to write instead", (sql, advice) => {
  const messages = lint(`${HEADER}-- narrows rides: no program writes it\n${sql}`);
  expect(messages).toEqual([expect.stringContaining(advice)]);
  expect(messages[0]).toMatch(/^0099_added\.sql: step 1, `.*` .*\.$/);
});

const ADD_JSON = (table: string) => `alter table ${table} add column x text generated always as (id || 'x') stored`;

test("a table of the fleet is written anew only with a reason, and a larger one not even then", () => {
  expect(lint(`${HEADER}${ADD_JSON("bikes")}`)).toEqual([expect.stringContaining("`-- rewrites bikes: …`")]);
  expect(lint(`${HEADER}-- rewrites bikes: its JSON gets a field\n${ADD_JSON("bikes")}`)).toEqual([]);
  const reason = "-- rewrites rides: its JSON gets a field";
  expect(lint(`${HEADER}${reason}\n${ADD_JSON("rides")}`)).toEqual([
    expect.stringContaining("add a column without it"),
  ]);
  expect(lint(`${HEADER}-- rewrites bikes: no\ncreate index x on bikes (system_id, number)`)).toHaveLength(1);
});

test.each([
  ["alter table rides drop column distance_meters", "the column distance_meters"],
  ["alter table rides rename column distance_meters to meters", "the name distance_meters"],
  ["drop table idempotency_keys", "the table idempotency_keys"],
  ["drop function ride_json", "the function ride_json"],
])("%s is refused while programs older than the last release may work beside it", (sql, what) => {
  expect(lint(`-- oldest program: 1.0.0\n${sql}`)).toEqual([
    expect.stringContaining(`removes ${what}, which programs before 1.1.0 may use`),
  ]);
  expect(lint(HEADER + sql)).toEqual([]);
});

test.each([
  ["alter table rides add constraint x check (distance_meters < 1000000) not valid", "what the check refuses"],
  [
    "alter table rides add foreign key (system_id) references systems (system_id) not valid",
    "what has no row in systems",
  ],
  ["-- step: autocommit\ncreate unique index concurrently x on rides (system_id, json)", "duplicates"],
  ["create unique index x on systems (name)", "duplicates"],
  ["alter table systems add constraint x unique using index y", "duplicates"],
  ["alter table systems alter column name set not null", "null"],
])("%s is refused unless it says why the releases that may work beside it write no such row", (sql, what) => {
  expect(lint(HEADER + sql)).toEqual([
    expect.stringContaining(`refuses ${what}, which programs from 1.1.0 on may write`),
  ]);
  const table = sql.includes("rides") ? "rides" : "systems";
  expect(lint(`${HEADER}-- narrows ${table}: 1.1.0 checks it before it writes\n${sql}`)).toEqual([]);
  expect(lint(`${HEADER}-- narrows ${table}:\n${sql}`)).toHaveLength(1);
  expect(lint(`${HEADER}-- narrows stations: not this one\n${sql}`)).toHaveLength(1);
});

test("a migration says which released program is the oldest that works beside it", () => {
  for (const header of ["", "-- oldest program: 1.2.0\n", "-- oldest program: next\n"])
    expect(lint(`${header}alter table rides add column x text`)).toEqual([
      expect.stringContaining("begin it with `-- oldest program: 1.1.0`"),
    ]);
});

test("what the messages advise is accepted", () => {
  const sql = `-- oldest program: 1.0.0
    -- narrows rides: programs before leave the price out, and it is 0 then
    -- narrows keys: each program writes it
    -- step: transaction
    alter table rides add column price integer default 0, add column paid_at timestamptz default now();
    alter table rides add constraint rides_price check (price >= 0) not valid;
    alter table rides add constraint rides_price_given check (price is not null) not valid;
    alter table rides add foreign key (system_id) references systems (system_id) not valid;
    alter table keys alter column last4 set not null;
    create index keys_name on keys (system_id, name);
    create table fares (system_id text, id text, check (id <> ''));
    create index fares_id on fares (id);
    insert into fares select system_id, '1' from systems;
    -- step: backfill rides
    update rides set price = 1 where price is null and :batch;
    -- step: autocommit
    alter table rides validate constraint rides_price;
    -- step: autocommit
    alter table rides validate constraint rides_price_given;
    -- step: transaction
    alter table rides alter column price set not null;
    -- step: autocommit
    create index concurrently rides_price_index on rides (system_id, price);
    -- step: autocommit
    drop index concurrently if exists rides_updated_at;`;
  expect(lint(sql)).toEqual([]);
});

test("a released migration that was edited or removed is refused", () => {
  const [first, ...rest] = base;
  const edited = [{ name: first!.name, sql: `${first!.sql} ` }, ...rest];
  const message = `${first!.name} was released and has been changed since: restore it, and write a new file.`;
  expect(lintMigrations(edited, releases)).toEqual([message]);
  expect(lintMigrations(rest, releases)).toEqual([message]);
});
