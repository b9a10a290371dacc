import type { Statement } from "../src/storage/db/statement.ts";
import type { TableKind } from "../src/storage/distribution/table-kinds.ts";

/*
 * Rules for SQL statements, which tests apply to all statements of the service. Citus may distribute the database over
 * several machines, and refuses some SQL that a single PostgreSQL runs. A reference table has a copy on every machine; the
 * rows of a system table are on the machine of their system. The table `placed_systems` has one row for each system: an
 * `insert … select` joins it (`rowsOfSystem`), so that Citus knows the machine for rows that come from parameters.
 */

/** One `insert`, `update` or `delete` of a statement, which may have several. */
interface Modification {
  readonly verb: "insert" | "update" | "delete";
  readonly table: string;
  /** What follows the table's name, to the end of the modification. */
  readonly text: string;
  /** Whether it is a step of a `with`, rather than the statement itself. */
  readonly isStep: boolean;
}

/** A kind of SQL that tests refuse: mostly because a distributed database refuses it or sends it to every machine. */
interface StatementRule {
  /** What is refused, and what to write instead. */
  readonly advice: string;
  /**
   * Tells whether a statement breaks the rule.
   * @param kinds whether each table is a system table or a reference table
   * @param name the statement's name; empty for a statement that a test wrote
   */
  breaks(
    statement: string,
    modifications: readonly Modification[],
    kinds: ReadonlyMap<string, TableKind>,
    name: string,
  ): boolean;
}

/**
 * Statements that may lock rows of a reference table, because they run rarely. Such a lock is taken on every machine, and
 * all other locks of rows of the table wait for it. So requests that partners send often must not take one.
 */
const rareLocks: ReadonlySet<string> = new Set([
  "invitations.lock",
  "invitations.lockRight",
  "invitations.lockSystem",
  "keys.lock",
  "keyRotation.lockAuthenticatorApps",
  "members.lock",
  "members.lockOperatorAdmins",
  "operatorMails.claim",
  "partners.lock",
  "partners.lockSystem",
  "passkeys.lock",
  "people.lock",
]);

/** The tables whose rows callers follow: they read changed rows in the order of their change positions. */
const FOLLOWED: ReadonlySet<string> = new Set(["stations", "bikes", "rides", "reservations"]);

/** Statements that update such rows, and change nothing that callers see. They need no new change position. */
const invisibleUpdates: ReadonlySet<string> = new Set([
  "history.beginAnew",
  "fleet.reportDocks",
  "gbfsOut.updatePublicId",
  "history.extendPast",
  "stationSnapshot.updateBookkeeping",
]);

/** Statements that write stations without their history: they change nothing that it records, or it has not begun. */
const unrecorded: ReadonlySet<string> = new Set([
  "fleet.reportDocks",
  "history.beginAnew",
  "history.extendPast",
  "placeholders.reassign",
  "stationSnapshot.updateBookkeeping",
  "stations.insertPlaceholderRows",
]);

const SUB_SELECT = /\(\s*select\b|\bexists\s*\(/;

const statementRules: readonly StatementRule[] = [
  {
    advice:
      "updates or deletes rows without naming their system, so that every machine is asked: add `system_id = $1`, or isOfSystem() where rows are found by their address (ctid) or by a list",
    breaks: (_, modifications, kinds) =>
      modifications.some(
        ({ verb, table, text }) =>
          verb !== "insert" && kinds.get(table) === "system" && !/\bsystem_id = \$\d/.test(text),
      ),
  },
  {
    advice:
      "has a parameter or a sub-select behind `on conflict` or `returning` of an `insert … select`: make the insert a step of a `with`, and select from it",
    breaks: (_, modifications) =>
      modifications.some(({ verb, text, isStep }) => {
        if (verb !== "insert" || isStep || isOfValues(text)) return false;
        const tail = behind(text, /\bon conflict\b|\breturning\b/);
        return /\$\d/.test(tail) || SUB_SELECT.test(tail);
      }),
  },
  {
    advice: "has a sub-select within `insert … values`: write `insert … select`",
    breaks: (_, modifications) =>
      modifications.some(({ verb, text }) => verb === "insert" && isOfValues(text) && SUB_SELECT.test(text)),
  },
  {
    advice:
      "updates rows that callers follow, and does not say so: set `${CHANGED}` too, or name the statement among invisibleUpdates if nobody is shown what it changes",
    breaks: (_, modifications, __, name) =>
      name !== "" &&
      !invisibleUpdates.has(name) &&
      modifications.some(
        ({ verb, table, text }) => verb === "update" && FOLLOWED.has(table) && !/\bchange_position = /.test(text),
      ),
  },
  {
    advice:
      "writes stations, and their history not: add recordInserted, recordUpdated or forgetDeleted of city/history/changes-sql-fragments.ts, or name the statement among `unrecorded` if it changes no counter and no status",
    breaks(_, modifications, __, name) {
      if (name === "" || unrecorded.has(name)) return false;
      const onHistory = modifications.filter(({ table }) => table === "station_changes");
      const deletesHistory = onHistory.some(({ verb }) => verb === "delete");
      const writesHistory = onHistory.some(({ verb }) => verb !== "delete");
      // A statement that deletes stations must delete their history; one that writes stations must write it.
      return modifications.some(
        ({ verb, table }) => table === "stations" && !(verb === "delete" ? deletesHistory : writesHistory),
      );
    },
  },
  {
    advice: "has `case value when …`, which Citus alters on its way to the machines: write `case when value = …`",
    breaks: (statement) => /\bcase\s+(?!when\b)/.test(statement),
  },
  {
    advice:
      "takes a change position within `case` or `coalesce`, which the extension refuses: write two statements, one for the rows that callers see changed",
    breaks: (statement) => /\b(?:case|coalesce)\b[^,;]*next_change_position\(\)/.test(statement),
  },
  {
    advice: "adds an interval to a column within `set`: compute it in a `with` step that reads the row",
    breaks: (_, modifications) =>
      modifications.some(
        ({ verb, text }) =>
          verb === "update" &&
          assignmentsOf(text).some((assignment) => /\binterval\b/.test(assignment) && /\b\w+\.\w+\b/.test(assignment)),
      ),
  },
  {
    advice:
      "reads the clock or adds an interval in the `set` behind `on conflict`: compute it in what is inserted, and write `excluded.…`",
    breaks: (_, modifications) =>
      modifications.some(({ verb, text }) => {
        const tail = verb === "insert" ? behind(text, /\bon conflict\b/) : "";
        return /\bset\b/.test(tail) && assignmentsOf(tail).some((each) => /\bnow\(\)|\+.*\binterval\b/.test(each));
      }),
  },
  {
    advice:
      "reads a reference table in an `insert … select` beside `placed_systems`, so that it is sent once for each system: read system tables alone",
    breaks: (_, modifications, kinds) =>
      modifications.some(
        ({ verb, text }) =>
          verb === "insert" &&
          /\bplaced_systems\b/.test(text) &&
          [...text.matchAll(/\b(?:from|join)\s+(\w+)/g)].some(([, table = ""]) => kinds.get(table) === "reference"),
      ),
  },
  {
    advice:
      "is an `insert … select` beside `placed_systems` behind a `with`, which is sent to the machine whole, and fails there: make it a step too, and end with `select`",
    breaks: (statement, modifications) =>
      /^\s*with\b/.test(statement) &&
      modifications.some(({ verb, text, isStep }) => verb === "insert" && !isStep && /\bplaced_systems\b/.test(text)),
  },
  {
    advice:
      "locks rows of a reference table and changes others in one statement: lock them in a statement before, in the same transaction",
    breaks: (statement, modifications, kinds) =>
      modifications.some(({ table }) => kinds.get(table) === "system") &&
      locksOf(statement).some(({ table }) => kinds.get(table) === "reference"),
  },
  {
    advice: "share-locks rows of a reference table, where two at once end in a deadlock: write `for no key update`",
    breaks: (statement, _, kinds) =>
      locksOf(statement).some(({ table, lock }) => kinds.get(table) === "reference" && lock.endsWith("share")),
  },
  {
    advice:
      "locks rows of a reference table, which holds off every other such lock, on all machines: lock a row of a system table, or name the statement among rareLocks if nobody calls it often",
    breaks: (statement, _, kinds, name) =>
      !rareLocks.has(name) && locksOf(statement).some(({ table }) => kinds.get(table) === "reference"),
  },
];

/** Returns a message for each rule that a statement breaks: its name, what is refused, and what to write instead. */
export function refusedIn({ name, text }: Statement, kinds: ReadonlyMap<string, TableKind>): string[] {
  const modifications = modificationsOf(text);
  return statementRules
    .filter((rule) => rule.breaks(text, modifications, kinds, name))
    .map(({ advice }) => `The statement "${name}" ${advice}.`);
}

const verbs: Readonly<Record<string, Modification["verb"]>> = {
  "insert into": "insert",
  update: "update",
  "delete from": "delete",
};

/**
 * Returns the modifications of a statement: the statement itself, and the steps of its `with`. A step ends at its closing
 * parenthesis, before the end of the text.
 */
function modificationsOf(text: string): Modification[] {
  // The look-behind leaves out `for update`, `for no key update` and `on conflict … do update`.
  const starts = text.matchAll(/(?<!\bfor |\bdo |\bno key )\b(insert into|update|delete from)\s+(\w+)/g);
  return [...starts].map((match) => {
    const [whole, verb = "", table = ""] = match;
    const from = match.index + whole.length;
    const to = endOf(text, from);
    return {
      verb: verbs[verb] ?? "insert",
      table,
      text: text.slice(from, to),
      isStep: to < text.length,
    };
  });
}

/** Returns where the parentheses around a position close; the end of the text if there are none. */
function endOf(text: string, from: number): number {
  let depth = 0;
  for (let index = from; index < text.length; index++) {
    if (text[index] === "(") depth++;
    else if (text[index] === ")" && --depth < 0) return index;
  }
  return text.length;
}

/** Returns the locks of a statement: of each `select … for …`, the first table of its `from`, and the kind of lock. */
function locksOf(statement: string): { readonly table: string; readonly lock: string }[] {
  // `is distinct from` is no `from` of a select.
  const from = /(?<!\bdistinct\s+)\bfrom\s+(\w+)\b/g;
  return [...statement.matchAll(from)].flatMap((match) => {
    const [whole, table = ""] = match;
    const start = match.index + whole.length;
    const rest = outsideOf(statement.slice(start, endOf(statement, start)));
    // A lock behind the next `from` belongs to the select of that `from`.
    const end = rest.search(/(?<!\bdistinct\s+)\bfrom\b/);
    const [, lock] = /\bfor\s+((?:no key )?update|(?:key )?share)\b/.exec(end === -1 ? rest : rest.slice(0, end)) ?? [];
    return lock === undefined ? [] : [{ table, lock }];
  });
}

/** Tells whether an insert is `insert … values`, not `insert … select`. */
function isOfValues(insert: string): boolean {
  return /^[^()]*\([^()]*\)\s*values\b/.test(insert);
}

/** Returns a text with blanks instead of everything in parentheses, so that positions stay the same. */
function outsideOf(text: string): string {
  let depth = 0;
  return text.replaceAll(/[^]/g, (character) => {
    if (character === ")") depth--;
    const kept = depth === 0 ? character : " ";
    if (character === "(") depth++;
    return kept;
  });
}

/** Returns the text from the first match outside of parentheses on; empty if there is none. */
function behind(text: string, pattern: RegExp): string {
  const at = outsideOf(text).search(pattern);
  return at === -1 ? "" : text.slice(at);
}

/** Returns the assignments behind `set`, each as text. */
function assignmentsOf(update: string): string[] {
  const outside = outsideOf(update);
  const from = outside.search(/\bset\b/);
  const length = outside.slice(from).search(/\b(?:from|where|returning)\b/);
  const to = length === -1 ? update.length : from + length;
  const commas = [...outside.slice(from, to).matchAll(/,/g)].map(({ index }) => from + index);
  return [from, ...commas].map((start, index) => update.slice(start, commas[index] ?? to));
}
