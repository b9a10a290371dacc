import type { Database } from "../db/database.ts";
import type { Reader } from "../db/pipeline.ts";

/** What reading lists needs: the pipelined reader for what is quick, the pool for what may take long. */
export interface ReadContext {
  readonly db: Database;
  readonly reader: Reader;
}
