import { parentPort } from "node:worker_threads";
import { type DocumentContent, type DocumentName, readDocument, type Translation } from "./documents.ts";
import { FeedFailure } from "./problems.ts";

/* The thread on which `document-reader.ts` parses the documents of a GBFS source. */

/** A request to parse a document. `read` is the document's name. */
export interface ReadRequest {
  readonly read: DocumentName;
  readonly bytes: Uint8Array;
  readonly now: number;
  readonly language: string | undefined;
  readonly translations: readonly Translation[];
}

/** A request to the thread: parse a document, or return more of its records. */
export type ThreadRequest = ReadRequest | { readonly read: "more" };

/** The thread's answer: a chunk of the document, or why the document cannot be read. */
export type ThreadAnswer = { readonly failure: string } | DocumentChunk;

/** A part of a document's records. The main thread requests each part, and does other work in between. */
interface DocumentChunk {
  /** The document without its records; only with the first chunk. */
  readonly document?: DocumentContent;
  readonly records: readonly (readonly [string, object])[];
  readonly isLast: boolean;
}

/** Records in a chunk. Too high: blocks the main thread while it copies them. */
const CHUNK_RECORDS = 2_000;

/** The records of the latest document that were not sent yet. */
let records: Iterator<[string, object], undefined> = [][Symbol.iterator]();

parentPort?.on("message", (request: ThreadRequest) => {
  parentPort?.postMessage(request.read === "more" ? nextChunk() : read(request));
});

/** Parses a document. Returns it with its first records. */
function read({ read: name, bytes, now, language, translations }: ReadRequest): ThreadAnswer {
  try {
    const document = readDocument(name, bytes, now, language, translations);
    const { content } = document;
    if (!("records" in content)) return { document, records: [], isLast: true };
    records = content.records[Symbol.iterator]();
    return { document: { ...document, content: { ...content, records: new Map() } }, ...nextChunk() };
  } catch (error) {
    // Any other error is a bug. It ends the thread, so that the main thread's `read` rejects.
    if (!(error instanceof FeedFailure)) throw error;
    return { failure: error.message };
  }
}

function nextChunk(): DocumentChunk {
  const chunk: [string, object][] = [];
  while (chunk.length < CHUNK_RECORDS) {
    const next = records.next();
    if (next.done === true) return { records: chunk, isLast: true };
    chunk.push(next.value);
  }
  return { records: chunk, isLast: false };
}
