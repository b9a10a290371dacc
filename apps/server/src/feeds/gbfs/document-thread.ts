import { parentPort } from "node:worker_threads";
import { readDocument, type DocumentName, type DocumentContent } from "./documents.ts";
import { FeedFailure } from "./problems.ts";

/** What the thread is asked: to read a document, or for more of what it has read. */
export type ThreadRequest =
  | { readonly read: DocumentName; readonly bytes: Uint8Array; readonly now: number }
  | { readonly read: "more" };

/** What it answers. The records of a document come in chunks, each requested. */
export type ThreadAnswer =
  | { readonly failure: string }
  | {
      /** The document without its records; undefined in all answers but the first. */
      readonly reading: DocumentContent | undefined;
      readonly records: readonly (readonly [string, object])[];
      readonly isLast: boolean;
    };

/** Records in a chunk. More would block the receiver, which copies each of them. */
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
    // Any other error is a bug: it ends the thread, and the read with it.
    if (!(error instanceof FeedFailure)) throw error;
    answer({ failure: error.message });
  }
}

function nextChunk(): { records: [string, object][]; isLast: boolean } {
  const chunk: [string, object][] = [];
  while (chunk.length < CHUNK_RECORDS) {
    const next = records.next();
    if (next.done === true) return { records: chunk, isLast: true };
    chunk.push(next.value);
  }
  return { records: chunk, isLast: false };
}
