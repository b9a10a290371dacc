import type { Reader } from "../db/pipeline.ts";
import type { FilteredReads } from "./filtered-reads.ts";

/** What reading lists needs: the pipelined reader for what is quick, places of their own for what may take long. */
export interface ReadContext {
  readonly reader: Reader;
  readonly filtered: FilteredReads;
}
