/*
 * Reads the SQL of a migration: splits it into steps and statements, and tells which tables a statement locks, which
 * work it does on their rows, and what it removes or forbids although older programs may still use it.
 */

/** PostgreSQL's locks on tables, the weakest first. */
const lockModes = [
  "access share",
  "row share",
  "row exclusive",
  "share update exclusive",
  "share",
  "share row exclusive",
  "exclusive",
  "access exclusive",
] as const;

export type LockMode = (typeof lockModes)[number];

/** The requests that wait while a lock is held. */
export type Blocked = "nothing" | "writes" | "reads and writes";

/** Returns the stronger of two locks. */
export function strongerOf(one: LockMode, other: LockMode): LockMode {
  return lockModes.indexOf(one) > lockModes.indexOf(other) ? one : other;
}

/**
 * Returns the requests that a lock makes wait. Locks up to `share update exclusive` block only other changes of the schema.
 */
export function blockedBy(mode: LockMode): Blocked {
  if (mode === "access exclusive") return "reads and writes";
  return lockModes.indexOf(mode) >= lockModes.indexOf("share") ? "writes" : "nothing";
}

/** The kinds of work that a statement does on existing rows while it holds its locks, from the least to the most. */
const works = ["none", "scan", "index build", "rows", "rewrite"] as const;

/** The work of a statement. All but "none" take longer for more rows. */
export type Work = (typeof works)[number];

function greaterOf(one: Work, other: Work): Work {
  return works.indexOf(one) > works.indexOf(other) ? one : other;
}

/** A lock that a statement takes on a table. */
export interface TableLock {
  readonly table: string;
  readonly mode: LockMode;
}

/** The effect of a migration's statement on existing tables. */
export interface SchemaChange {
  /** The first lock is on the table whose rows decide how long the work takes; for a new partition, its parent table. */
  readonly locks: readonly TableLock[];
  readonly work: Work;
  /** The table that the statement creates. */
  readonly creates?: string | undefined;
  /** The index whose table the statement locks without naming the table. */
  readonly index?: { readonly name: string; readonly mode: LockMode };
  /** The column or table that the statement removes, although an older program may still use it. */
  readonly removes?: string | undefined;
  /** The values that the statement forbids, although an older program may still write them. */
  readonly narrows?: string | undefined;
  /** The reason why the statement fails or does harm, even on a small table. */
  readonly issue?: string | undefined;
  /** A replacement for a statement that blocks requests for long. */
  readonly advice?: string | undefined;
}

/** One statement of a migration. */
export interface SqlStatement {
  /** The original text, which PostgreSQL receives with its line ends: they may matter in a literal or a function body. */
  readonly source: string;
  /** The statement on one line and without comments, for people. */
  readonly text: string;
  /** Like `text`, in lower case and without the content of string literals and function bodies, for rules. */
  readonly bare: string;
}

/** Comments, string literals and dollar-quoted bodies. */
const OPAQUE = /'(?:[^']|'')*'|\$(\w*)\$[\s\S]*?\$\1\$|\/\*[\s\S]*?\*\/|--.*/g;

/** Returns the statements of a SQL text. */
export function splitStatements(sql: string): SqlStatement[] {
  const withoutComments = sql.replaceAll(OPAQUE, (match) => (isComment(match) ? " ".repeat(match.length) : match));
  // The masked text has the same length, so that positions in both are equal.
  const masked = withoutComments.replaceAll(OPAQUE, (match) => `'${" ".repeat(Math.max(match.length - 2, 0))}'`);
  let start = 0;
  return masked
    .split(";")
    .map((part) => {
      const end = start + part.length;
      const [source, text] = [sql.slice(start, end), withoutComments.slice(start, end)];
      start = end + 1;
      // `onOneLine` leaves one space inside each masked literal that was not empty.
      return { source, text: onOneLine(text), bare: onOneLine(part).replaceAll("' '", "''").toLowerCase() };
    })
    .filter(({ bare }) => bare !== "");
}

function isComment(text: string): boolean {
  return text.startsWith("--") || text.startsWith("/*");
}

function onOneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

/** A part of a migration that is applied as a whole, and recorded, before the next one begins. */
export type Step =
  /** Any statements, in one transaction. */
  | { readonly kind: "transaction"; readonly sql: string }
  /** One statement that PostgreSQL refuses in a transaction, or that would hold its locks for too long there. */
  | { readonly kind: "autocommit"; readonly sql: string }
  /** One statement that runs again and again, each time on the next rows of a table in the order of its primary key. */
  | { readonly kind: "backfill"; readonly sql: string; readonly table: string };

/** The placeholder in a backfill's statement for the condition that selects the rows of a batch. */
export const BATCH_CONDITION = ":batch";

/** Comments in a migration: the kind of the step that follows, and the oldest version that works on the changed schema. */
const MARKER = /^[ \t]*-- *step: *(.*?) *$/m;
const OLDEST_PROGRAM = /^-- *oldest program: *(\d+\.\d+\.\d+) *$/m;

/**
 * Splits a migration into steps, at lines such as `-- step: autocommit`. A file without such lines is one transaction.
 * @throws Error that describes the error in the file
 */
export function parseSteps(sql: string): Step[] {
  // `MARKER` has a group, so `split` returns the markers and the SQL behind them in turn.
  const [before = "", ...marked] = sql.split(MARKER);
  if (marked.length === 0) return [{ kind: "transaction", sql }];
  if (splitStatements(before).length > 0)
    throw new Error("a statement stands before the first `-- step:`; mark its step");
  return Array.from({ length: marked.length / 2 }, (_, index) =>
    createStep(marked[index * 2] ?? "", marked[index * 2 + 1] ?? ""),
  );
}

/**
 * Returns the oldest version of the program that works on the schema which a migration leaves; undefined: the file does not
 * say.
 */
export function oldestProgramOf(sql: string): string | undefined {
  return OLDEST_PROGRAM.exec(sql)?.[1];
}

/** Creates the step of a marker. @param marker the text after `-- step:` @param sql the text up to the next marker */
function createStep(marker: string, sql: string): Step {
  const count = splitStatements(sql).length;
  const table = /^backfill (\w+)$/.exec(marker)?.[1];
  if (marker === "transaction" && count > 0) return { kind: "transaction", sql };
  if (count !== 1) throw new Error(`\`-- step: ${marker}\` has ${count} statements; give it one`);
  if (marker === "autocommit") return { kind: "autocommit", sql };
  if (table === undefined) {
    throw new Error(`\`-- step: ${marker}\` is unknown; write transaction, autocommit, or backfill and a table`);
  }
  if (!sql.includes(BATCH_CONDITION)) throw new Error(`the backfill of ${table} lacks \`where ${BATCH_CONDITION}\``);
  return { kind: "backfill", sql, table };
}

/** The effect of a statement that locks no existing table. */
const nothing: SchemaChange = { locks: [], work: "none" };

/** Returns the effect of a statement that locks one table. */
const on = (table: string | undefined, mode: LockMode, more: Partial<SchemaChange> = {}): SchemaChange => ({
  locks: [{ table: table ?? "", mode }],
  work: "none",
  ...more,
});

/** A unique index forbids duplicates, which an older program may still write. */
const refusing = (unique: string | undefined) => (unique === undefined ? {} : { narrows: "duplicates" });

/** Advice to replace statements and actions that block requests for long. */
const BACKFILL = "write `-- step: backfill <table>` and a statement with `where :batch`";
const CONCURRENTLY = "write `concurrently`, in `-- step: autocommit`";

/**
 * Patterns of statements, each with a function that gets the pattern's groups and returns the effect. The first pattern that
 * matches `bare` decides. A pattern that ends with `$` matches whole statements, so that forms which it does not know have no
 * known effect.
 */
const statements: readonly (readonly [RegExp, (...names: string[]) => SchemaChange | undefined])[] = [
  // PostgreSQL searches the default partition for rows of the new partition.
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
  // Does not match `vacuum (full)`, which rewrites the table while nobody can read it.
  [/^vacuum(?: \((?!.*\bfull\b)[\w, ]*\))? (\w+)$/, (table) => on(table, "share update exclusive", { work: "scan" })],
  // Counts as no work: `analyze` reads some 30,000 pages at most, whatever the size of the table.
  [/^analyze (\w+)$/, (table) => on(table, "share update exclusive")],
  [/^(?:grant|revoke) .* on (?:table )?(\w+) (?:to|from) /, (table) => on(table, "access share")],
  [/^(?:set|reset) /, () => nothing],
];

/** Returns the effect of a statement; undefined when it is not known. */
export function changeBy({ bare }: SqlStatement): SchemaChange | undefined {
  for (const [pattern, describe] of statements) {
    const match = pattern.exec(bare);
    if (match !== null) return describe(...match.slice(1));
  }
  return undefined;
}

/** Returns the tables that statements lock, without those whose index a statement drops. */
export function lockedTables(sql: string): string[] {
  return splitStatements(sql).flatMap((statement) => changeBy(statement)?.locks.map(({ table }) => table) ?? []);
}

/** The effect of one action of an `alter table`. */
interface Action {
  readonly mode: LockMode;
  readonly work?: Work;
  /** The lock on a second table. */
  readonly other?: TableLock;
  readonly removes?: string;
  readonly narrows?: string | undefined;
  readonly issue?: string;
  readonly advice?: string;
}

/** Advice for actions of `alter table`. */
const NOT_VALID =
  "add it `not valid`, and then `-- step: autocommit` with `alter table … validate constraint …`, which reads the table while others write";
const NEW_COLUMN =
  "add a column without it (or one of the new type), fill it by `-- step: backfill <table>`, let a release write both, and drop the old one a release later";
const PROVEN =
  "add `check (… is not null) not valid`, validate that in `-- step: autocommit`, and then set `not null`, for which PostgreSQL need not read the table";
const BY_INDEX =
  "write `create unique index concurrently` in `-- step: autocommit`, and then `add constraint … using index …`";

const DUPLICATES = "duplicates";

/** The effect of a foreign key. @param target the table that it refers to */
const foreignKey = (target: string, isValidated: boolean): Action => ({
  mode: "share row exclusive",
  other: { table: target, mode: "share row exclusive" },
  narrows: `what has no row in ${target}`,
  ...(isValidated && { work: "scan", advice: NOT_VALID }),
});

/**
 * Actions by their first words, and their effects. A function gets the groups of the match, and the whole action. The order
 * matters: `add`, `drop` and `rename` mean a column unless a constraint is matched first.
 */
const actions: readonly (readonly [RegExp, (groups: readonly string[], action: string) => Action])[] = [
  [/^validate constraint /, () => ({ mode: "share update exclusive", work: "scan" })],
  [
    /^add (?:constraint \w+ )?foreign key .*?references (\w+)/,
    ([target = ""], action) => foreignKey(target, !action.endsWith("not valid")),
  ],
  [
    /^add (?:constraint \w+ )?check ?\(/,
    (_, action) => ({
      mode: "access exclusive",
      narrows: "what the check refuses",
      ...(!action.endsWith("not valid") && { work: "scan", advice: NOT_VALID }),
    }),
  ],
  [
    /^add (?:constraint \w+ )?(?:unique|primary key) using index /,
    () => ({ mode: "access exclusive", narrows: DUPLICATES }),
  ],
  [
    /^add (?:constraint \w+ )?(?:unique|primary key|exclude)\b/,
    () => ({ mode: "access exclusive", work: "index build", narrows: DUPLICATES, advice: BY_INDEX }),
  ],
  [/^add (?:column )?(?:if not exists )?(?!constraint )(\w+) (.*)$/, ([, definition = ""]) => addColumn(definition)],
  [/^drop constraint /, () => ({ mode: "access exclusive" })],
  [
    /^drop (?:column )?(?:if exists )?(\w+)/,
    ([column]) => ({ mode: "access exclusive", removes: `the column ${column}` }),
  ],
  [
    /^alter (?:column )?(\w+) (?:set data )?type /,
    ([column]) => ({
      mode: "access exclusive",
      work: "rewrite",
      removes: `the type of ${column}`,
      advice: NEW_COLUMN,
    }),
  ],
  [
    /^alter (?:column )?\w+ set not null$/,
    () => ({ mode: "access exclusive", work: "scan", narrows: "null", advice: PROVEN }),
  ],
  [/^alter (?:column )?\w+ (?:set default|drop default|drop not null)/, () => ({ mode: "access exclusive" })],
  [/^alter (?:column )?\w+ (?:set statistics|set \(|reset \()/, () => ({ mode: "share update exclusive" })],
  [/^rename constraint /, () => ({ mode: "access exclusive" })],
  [/^rename (?:column )?(\w+)/, ([name]) => ({ mode: "access exclusive", removes: `the name ${name}` })],
  [/^(?:set|reset) \(/, () => ({ mode: "share update exclusive" })],
  [
    /^attach partition (\w+)/,
    ([partition = ""]) => ({
      mode: "share update exclusive",
      work: "scan",
      other: { table: partition, mode: "access exclusive" },
    }),
  ],
];

/** Returns the effect of an `alter table`: the strongest lock and the most work of its actions; undefined: not known. */
function alterTable(table: string, text: string): SchemaChange | undefined {
  const found = splitActions(text).map(actionBy);
  if (found.some((action) => action === undefined)) return undefined;
  const known = found.filter((action) => action !== undefined);
  const work = known.map((action) => action.work ?? "none").reduce(greaterOf);
  const mode = known.map((action) => action.mode).reduce(strongerOf);
  const first = <Name extends "removes" | "narrows" | "issue" | "advice">(name: Name) =>
    known.find((action) => action[name] !== undefined)?.[name];
  return {
    locks: [{ table, mode }, ...known.flatMap(({ other }) => (other === undefined ? [] : [other]))],
    work,
    removes: first("removes"),
    narrows: first("narrows"),
    issue: first("issue"),
    advice: first("advice"),
  };
}

/** Returns the effect of one action of an `alter table`; undefined when it is not known. */
function actionBy(action: string): Action | undefined {
  for (const [pattern, describe] of actions) {
    const match = pattern.exec(action);
    if (match !== null) return describe(match.slice(1), action);
  }
  return undefined;
}

/** Functions with one value for the whole statement. PostgreSQL stores such a default once instead of in each row. */
const STABLE = /\b(?:now|transaction_timestamp|statement_timestamp)\(\)/g;

/** Returns the effect of adding a column. @param definition its type, and what follows the type */
function addColumn(definition: string): Action {
  const target = /\breferences (\w+)/.exec(definition)?.[1];
  const given = /\bdefault (.*)$/.exec(definition)?.[1];
  // A function call in the default counts as volatile, unless it is in `STABLE`. A `check` or `references` that follows the
  // default does not belong to it.
  const isVolatile = /\w\s*\(/.test((given ?? "").replaceAll(STABLE, "").replace(/\b(?:check|references)\b.*$/, ""));
  const isGenerated = /\bgenerated .* (?:stored|identity)|\b(?:big|small)?serial\b/.test(definition);
  if (isVolatile || isGenerated) return { mode: "access exclusive", work: "rewrite", advice: NEW_COLUMN };
  if (/\bunique\b|\bprimary key\b/.test(definition))
    return { mode: "access exclusive", work: "index build", advice: BY_INDEX };
  // Narrows nothing, because older programs omit the new column when they insert.
  if (target !== undefined) {
    return { ...foreignKey(target, true), mode: "access exclusive", narrows: undefined };
  }
  if (/\bcheck ?\(/.test(definition)) return { mode: "access exclusive", work: "scan", advice: NOT_VALID };
  if (/\bnot null\b/.test(definition) && given === undefined) {
    return {
      mode: "access exclusive",
      issue: "a column that is not null needs a default, for the rows that are there",
    };
  }
  return { mode: "access exclusive" };
}

/** Splits the text at commas, except those inside parentheses. */
function splitActions(text: string): string[] {
  let depth = 0;
  const parts = [""];
  for (const character of text) {
    if (character === "(") depth++;
    if (character === ")") depth--;
    if (character === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += character;
  }
  return parts.map((part) => part.trim());
}
