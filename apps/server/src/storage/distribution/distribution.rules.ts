import type { ServerState } from "./queries.ts";
import type { TableKind } from "./table-kinds.ts";

/** Schemas that the extension Citus creates. A role of the same name would look for its tables in such a schema first. */
const CITUS_SCHEMAS: readonly string[] = ["citus", "citus_internal", "columnar", "columnar_internal"];

/** Returns what is missing before a database can be distributed by Citus, as sentences; empty: nothing is missing. */
export function missingFor(state: ServerState): string[] {
  const missing: string[] = [];
  if (!state.is_available) {
    missing.push(
      `The extension citus is not installed on the server: install its package for PostgreSQL ${state.version} (postgresql-${state.version}-citus-… of its own package source) on every machine of the database. Our own PostgreSQL cannot have it: move to one of yours with \`backup\` and \`restore\` first.`,
    );
  }
  if (!state.is_loaded) {
    missing.push(
      "The server does not load it: put citus first in shared_preload_libraries (alter system set shared_preload_libraries = 'citus') and restart PostgreSQL.",
    );
  }
  if (state.is_available && state.is_loaded && !state.is_created && !state.is_superuser) {
    missing.push("This role may not create it: run `create extension citus` in this database as a superuser.");
  }
  if (!state.is_created && CITUS_SCHEMAS.includes(state.role)) {
    missing.push(
      `The extension makes a schema ${state.role}, in which a role ${state.role} would look for our tables: rename the role (alter role … rename to …), or give it \`alter role ${state.role} set search_path = public\`.`,
    );
  }
  if (state.sessions > 0) {
    missing.push(
      `${state.sessions} ${state.sessions === 1 ? "connection uses" : "connections use"} the database: stop the service on every machine, and other commands, until this is done.`,
    );
  }
  return missing;
}

/** The tables that are still to be distributed. */
export interface TableSteps {
  /** Reference tables, in the order of their migrations: a table comes after the tables that it refers to. */
  readonly referenceTables: readonly string[];
  /** System tables: each of their rows belongs to a system. */
  readonly systemTables: readonly string[];
}

/**
 * Returns the tables that remain to be distributed.
 * @param kinds the kind that the migrations declare for each table
 * @param distributed the tables that are distributed already, with their kinds
 * @throws Error when a table is distributed as another kind than its migration declares
 */
export function tableSteps(
  kinds: ReadonlyMap<string, TableKind>,
  distributed: ReadonlyMap<string, TableKind>,
): TableSteps {
  const wrong = [...kinds].find(([name, kind]) => distributed.has(name) && distributed.get(name) !== kind);
  if (wrong !== undefined) {
    const [name, kind] = wrong;
    throw new Error(
      `The table ${name} is distributed as a ${distributed.get(name)} table, and is a ${kind} table: select undistribute_table('${name}'), then run this again.`,
    );
  }
  const left = (wanted: TableKind) =>
    [...kinds].flatMap(([name, kind]) => (kind === wanted && !distributed.has(name) ? [name] : []));
  return { referenceTables: left("reference"), systemTables: left("system") };
}

/** Returns the tables of a kind. */
export function tablesOfKind(kinds: ReadonlyMap<string, TableKind>, kind: TableKind): string[] {
  return [...kinds].flatMap(([name, of]) => (of === kind ? [name] : []));
}
