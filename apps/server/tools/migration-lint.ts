import { createHash } from "node:crypto";
import {
  blockedBy,
  changeBy,
  type LockMode,
  oldestProgramOf,
  parseSteps,
  type SchemaChange,
  splitStatements,
  type SqlStatement,
  type Step,
  strongerOf,
} from "../src/storage/db/migrate/schema-change.rules.ts";
import { declaredKinds } from "../src/storage/distribution/table-kinds.ts";
import type { MigrationFile } from "./migration-files.ts";

/*
 * Checks the migrations since the last release: they must not stop a service that is in use, and released files must not
 * change. Each file begins with the oldest release whose program works on the schema that the file leaves. A file has steps,
 * each of which is one transaction, or statements outside of transactions (`-- step: autocommit`).
 */

/** A release, with the migrations that came with it: file names and their SHA-256. Kept in releases.json. */
export interface Release {
  readonly version: string;
  readonly migrations: Readonly<Record<string, string>>;
}

export function checksumOf(sql: string): string {
  return createHash("sha256").update(sql).digest("hex");
}

/**
 * Reference tables that are big, because they only grow. All other reference tables, of which every machine of a
 * distributed database has a copy, are small; all tables of a system (the kind `system`) are big.
 */
const GROWING = ["audit_log"];

/** System tables with one row for each bike or station: writing every row anew takes a second at most. */
const OF_THE_FLEET = ["bikes", "stations"];

/**
 * Returns what is wrong with the migrations since the last release: each message names the file and says what to write
 * instead. Before the first release nothing is wrong: every file may be edited.
 */
export function lintMigrations(files: readonly MigrationFile[], releases: readonly Release[]): string[] {
  const last = releases.at(-1);
  if (last === undefined) return [];
  const released = new Map(releases.flatMap((release) => Object.entries(release.migrations)));
  const edited = [...released].flatMap(([name, checksum]) => {
    const file = files.find((each) => each.name === name);
    if (file !== undefined && checksumOf(file.sql) === checksum) return [];
    return [`${name} was released and has been changed since: restore it, and write a new file.`];
  });
  const base = files.filter(({ name }) => released.has(name));
  const kinds = new Map(base.flatMap(({ sql }) => [...declaredKinds(sql)]));
  const isBig = (table: string) => kinds.get(table) === "system" || GROWING.includes(table);
  const added = files.filter(({ name }) => !released.has(name));
  const earlier: SqlStatement[] = base.flatMap(({ sql }) => splitStatements(sql));
  return [...edited, ...added.flatMap((file) => lintFile(file, { releases, isBig, earlier }))];
}

interface LintContext {
  readonly releases: readonly Release[];
  readonly isBig: (table: string) => boolean;
  /** The statements of all earlier files. `lintFile` adds those of its file. */
  readonly earlier: SqlStatement[];
}

/** Returns what is wrong with one new file. */
function lintFile({ name, sql }: MigrationFile, context: LintContext): string[] {
  const versions = context.releases.map(({ version }) => version);
  const last = versions.at(-1) ?? "";
  const oldest = oldestProgramOf(sql);
  const messages: string[] = [];
  const refuse = (message: string) => void messages.push(`${name}: ${message}`);
  if (oldest === undefined || !versions.includes(oldest)) {
    refuse(
      `begin it with \`-- oldest program: ${last}\`, or an older release whose program works on the new schema too.`,
    );
  }
  // No older program writes a table that the file itself creates.
  const createdTables = new Set<string>();
  for (const [index, step] of parseSteps(sql).entries()) {
    const locked = new Map<string, LockMode>();
    for (const statement of splitStatements(step.sql)) {
      const where = `step ${index + 1}, \`${statement.text}\``;
      for (const issue of issuesOf(step, statement, locked, { ...context, sql })) refuse(`${where} ${issue}.`);
      const { removes, narrows, creates, locks } = changeBy(statement) ?? {};
      if (creates !== undefined) createdTables.add(creates);
      const table = locks?.[0]?.table;
      // `narrows`: the values that the statement forbids, although a program may still write them.
      const isOwnTable = table !== undefined && createdTables.has(table);
      const isAllowed = isOwnTable || isProven(statement, context.earlier) || saysNarrows(sql, table);
      if (narrows !== undefined && !isAllowed) {
        refuse(
          `${where} refuses ${narrows}, which programs from ${oldest} on may write. See that they do not, and say why in a line \`-- narrows ${table}: …\`; else let a release write what it accepts first.`,
        );
      }
      if (removes !== undefined && oldest !== last) {
        refuse(
          `${where} removes ${removes}, which programs before ${last} may use. Once ${last} does not use it any more, write \`-- oldest program: ${last}\`; until then leave it.`,
        );
      }
      context.earlier.push(statement);
    }
  }
  return messages;
}

/** Tells whether a migration has a line that says why no program writes what the table refuses from then on. */
function saysNarrows(sql: string, table: string | undefined): boolean {
  return new RegExp(`^ *-- narrows ${table}: \\S`, "m").test(sql);
}

/** Tells whether a migration has a line that says why a table of the fleet may be written anew. */
function saysRewrite(sql: string, table: string): boolean {
  return OF_THE_FLEET.includes(table) && new RegExp(`^ *-- rewrites ${table}: \\S`, "m").test(sql);
}

/**
 * Returns what is wrong with one statement.
 * @param locked the locks that the step holds before the statement; this function adds those of the statement
 */
function issuesOf(
  step: Step,
  statement: SqlStatement,
  locked: Map<string, LockMode>,
  { isBig, earlier, sql }: LintContext & { readonly sql: string },
): string[] {
  const change = changeBy(statement);
  if (change === undefined) {
    return ["is of a kind that src/storage/db/migrate/schema-change.rules.ts does not know: add it there, with a test"];
  }
  for (const { table, mode } of change.locks) locked.set(table, strongerOf(mode, locked.get(table) ?? mode));
  const issues = change.issue === undefined ? [] : [change.issue];
  const needsAutocommit = /\bconcurrently\b|^vacuum/.test(statement.bare);
  // `validate constraint` and `analyze` may run either way: a crash leaves nothing half done.
  const mayAutocommit = needsAutocommit || / validate constraint |^analyze /.test(statement.bare);
  if (needsAutocommit && step.kind !== "autocommit")
    issues.push("cannot run in a transaction: mark it `-- step: autocommit`");
  if (step.kind === "autocommit" && !mayAutocommit) {
    issues.push("needs no `autocommit`, and would be half done after a crash: mark it `-- step: transaction`");
  }
  // The big tables whose requests the step's locks stop, except those that the file says may be written anew.
  const stoppedTables = change.locks
    .map(({ table }) => ({ table, blocked: blockedBy(locked.get(table) ?? "access share") }))
    .filter(({ table, blocked }) => isBig(table) && blocked !== "nothing")
    .filter(({ table }) => change.work !== "rewrite" || !saysRewrite(sql, table));
  if (change.work === "rows" && step.kind === "transaction" && isBig(change.locks[0]?.table ?? "")) {
    issues.push(`locks every row until it has written the last: ${change.advice}`);
  } else if (change.work !== "none" && !isProven(statement, earlier)) {
    const advice = change.advice ?? "give it a step of its own, after the one whose lock it runs under";
    for (const { table, blocked } of stoppedTables)
      issues.push(`${works[change.work]} of ${table} and stops ${blocked} meanwhile: ${advice}${orSay(change, table)}`);
  }
  return issues;
}

function orSay({ work }: SchemaChange, table: string): string {
  if (work !== "rewrite" || !OF_THE_FLEET.includes(table)) return "";
  return `. ${table} is as small as the fleet: a line \`-- rewrites ${table}: …\` with the reason allows it`;
}

/** What a statement does, for messages: `… reads every row of rides and stops …`. */
const works: Readonly<Record<SchemaChange["work"], string>> = {
  none: "does nothing to the rows",
  scan: "reads every row",
  "index build": "builds an index",
  rows: "writes the rows",
  rewrite: "writes every row anew",
};

/** Tells whether a statement is `set not null` of a column that a validated check proves not null: then no row is read. */
function isProven({ bare }: SqlStatement, earlier: readonly SqlStatement[]): boolean {
  const [, table, column] = /^alter table (\w+) alter (?:column )?(\w+) set not null$/.exec(bare) ?? [];
  if (table === undefined) return false;
  return earlier.some((statement) => {
    const added = new RegExp(
      `^alter table ${table} add constraint (\\w+) check ?\\(${column} is not null\\) not valid$`,
    );
    const [, constraint] = added.exec(statement.bare) ?? [];
    const validation = `alter table ${table} validate constraint ${constraint}`;
    return constraint !== undefined && earlier.some((other) => other.bare === validation);
  });
}
