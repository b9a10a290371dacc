import { parentPort } from "node:worker_threads";
import { readDocument, type DocumentName, type DocumentContent } from "./documents.ts";
import { FeedFailure } from "./problems.ts";

/** What the thread is asked: to read a document, or for more of what it has read. */
export type ThreadRequest =
  | { readonly read: DocumentName; readonly bytes: Uint8Array; readonly now: number }
  | { readonly read: "more" };

/** What it answers. A reading's records come in pieces, each one asked for. */
export type ThreadAnswer =
  | { readonly failure: string }
  | {
      /** The reading without its records, with the first piece. */
      readonly reading: DocumentContent | undefined;
      readonly records: readonly (readonly [string, object])[];
      readonly isLast: boolean;
    };

/** Records in a piece. More would hold up whoever receives them: each is copied into its memory. */
const CHUNK_RECORDS = 2_000;

let records: Iterator<[string, object], undefined> = [][Symbol.iterator]();

parentPort?.on("message", (request: ThreadRequest) => {
  if (request.read === "more") answer({ reading: undefined, ...nextChunk() });
  else read(request);
});

function answer(message: ThreadAnswer): void {
  parentPort?.postMessage(message);
}

function read({ read: name, bytes, now }: Exclude<ThreadRequest, { read: "more" }>): void {
  try {
    const { content, changesAt } = readDocument(name, bytes, now);
    if ("records" in content) {
      records = content.records[Symbol.iterator]();
      answer({ reading: { content: { ...content, records: new Map() }, changesAt }, ...nextChunk() });
    } else answer({ reading: { content, changesAt }, records: [], isLast: true });
  } catch (error) {
    // What has no feed is a mistake of ours: it ends the thread, and the reading with it.
    if (!(error instanceof FeedFailure)) throw error;
    answer({ failure: error.message });
  }
}

function nextChunk(): { records: [string, object][]; isLast: boolean } {
  const piece: [string, object][] = [];
  while (piece.length < CHUNK_RECORDS) {
    const next = records.next();
    if (next.done === true) return { records: piece, isLast: true };
    piece.push(next.value);
  }
  return { records: piece, isLast: false };
}
