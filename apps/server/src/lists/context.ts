import type { Queryable } from "../db/database.ts";
import type { Reader } from "../db/pipeline.ts";
import type { FilteredReads } from "./filtered-reads.ts";

/** What reading lists needs: the pipelined reader for what is quick, places of their own for what may take long. */
export interface ReadContext {
  readonly reader: Reader;
  readonly filtered: FilteredReads;
}

/** The same over one pool, for a program of its own that reads a list now and then. */
export function readContextOn(db: Queryable): ReadContext {
  return {
    reader: { read: (statement, values) => db.query(statement, values), close: () => Promise.resolve() },
    filtered: { read: (_, work) => work(db), usage: () => ({ running: 0, waiting: 0 }) },
  };
}
