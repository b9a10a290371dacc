import { alterTable } from "./alter-table.rules.ts";
import { type SqlStatement, splitStatements } from "./sql-statements.rules.ts";
import type { LockMode, SchemaChange } from "./table-locks.rules.ts";

const nothing: SchemaChange = { locks: [], work: "none" };

const on = (table: string | undefined, mode: LockMode, more: Partial<SchemaChange> = {}): SchemaChange => ({
  locks: [{ table: table ?? "", mode }],
  work: "none",
  ...more,
});

const refusing = (unique: string | undefined) => (unique === undefined ? {} : { narrows: "duplicates" });

const BACKFILL = "write `-- step: backfill <table>` and a statement with `where :batch`";
const CONCURRENTLY = "write `concurrently`, in `-- step: autocommit`";

/** Statements by how they begin, in the form that `bare` has; the groups are the tables. */
const statements: readonly (readonly [RegExp, (...names: string[]) => SchemaChange | undefined])[] = [
  // The partition that takes the rest is searched for rows of the new one.
  [
    /^create table (?:if not exists )?(\w+) partition of (\w+)/,
    (table, parent) => on(parent, "access exclusive", { creates: table, work: "scan" }),
  ],
  [/^create (?:unlogged )?table (?:if not exists )?(\w+)/, (table) => ({ ...nothing, creates: table })],
  [
    /^create (unique )?index concurrently (?:if not exists )?\w+ on (?:only )?(\w+)/,
    (unique, table) => on(table, "share update exclusive", { work: "index build", ...refusing(unique) }),
  ],
  [
    /^create (unique )?index (?:if not exists )?\w+ on (?:only )?(\w+)/,
    (unique, table) => on(table, "share", { work: "index build", advice: CONCURRENTLY, ...refusing(unique) }),
  ],
  [
    /^drop index concurrently if exists (\w+)$/,
    (name = "") => ({ ...nothing, index: { name, mode: "share update exclusive" } }),
  ],
  [
    /^drop index (?:if exists )?(\w+)$/,
    (name = "") => ({
      ...nothing,
      index: { name, mode: "access exclusive" },
      issue: `${CONCURRENTLY}, and \`if exists\``,
    }),
  ],
  [/^alter table (?:if exists )?(?:only )?(\w+) (.*)$/, (table = "", actions = "") => alterTable(table, actions)],
  [/^drop table (?:if exists )?(\w+)$/, (table) => on(table, "access exclusive", { removes: `the table ${table}` })],
  [/^create (?:or replace )?(?:function|procedure|type|domain|extension) /, () => nothing],
  [
    /^drop (function|type|domain|view) (?:if exists )?(\w+)/,
    (kind, name) => ({ ...nothing, removes: `the ${kind} ${name}` }),
  ],
  [/^comment on (?:table|column|constraint \w+ on) (\w+)/, (table) => on(table, "share update exclusive")],
  [
    /^(?:insert into|update|delete from) (?:only )?(\w+)/,
    (table) => on(table, "row exclusive", { work: "rows", advice: BACKFILL }),
  ],
  [/^truncate (?:table )?(\w+)$/, (table) => on(table, "access exclusive", { removes: `the rows of ${table}` })],
  [/^vacuum(?: \((?!full)[\w, ]*\))? (\w+)$/, (table) => on(table, "share update exclusive", { work: "scan" })],
  // Of a table of any size it reads some 30,000 pages.
  [/^analyze (\w+)$/, (table) => on(table, "share update exclusive")],
  [/^(?:grant|revoke) .* on (?:table )?(\w+) (?:to|from) /, (table) => on(table, "access share")],
  [/^(?:set|reset) /, () => nothing],
];

/** What a statement does; undefined where nobody has said so yet. */
export function changeBy({ bare }: SqlStatement): SchemaChange | undefined {
  for (const [pattern, describe] of statements) {
    const match = pattern.exec(bare);
    if (match !== null) return describe(...match.slice(1));
  }
  return undefined;
}

/** The tables that statements lock. */
export function lockedTables(sql: string): string[] {
  return splitStatements(sql).flatMap((statement) => changeBy(statement)?.locks.map(({ table }) => table) ?? []);
}
