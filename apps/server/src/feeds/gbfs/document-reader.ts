import { once } from "node:events";
import { extname } from "node:path";
import { type ResourceLimits, Worker } from "node:worker_threads";
import type { ReadRequest, ThreadAnswer, ThreadRequest } from "./document-thread.ts";
import type { DocumentContent, DocumentName, Translation } from "./documents.ts";
import { FeedFailure } from "./problems.ts";

/**
 * Parses documents on a separate thread, so that the process can answer requests meanwhile, whatever a document contains.
 */
export interface DocumentReader {
  /**
   * Reads a document, after the documents of earlier calls.
   * @param now milliseconds since 1970
   * @param language the language of texts that do not name theirs
   * @param translations the same document in other languages
   * @throws FeedFailure when nothing in the document can be used, or reading it takes too much memory or time
   */
  read<Name extends DocumentName>(
    name: Name,
    bytes: Uint8Array,
    now: number,
    language?: string,
    translations?: readonly Translation[],
  ): Promise<DocumentContent<Name>>;
  /** Ends the thread and frees its memory. The next `read` starts another. */
  release(): Promise<void>;
}

/** The limits of the thread. Tests make them small. */
export interface DocumentReaderLimits {
  readonly heapMiB?: number;
  readonly timeoutMs?: number;
}

/** Memory of the thread: enough for 200,000 vehicles, the most of a feed. The JSON parser may take as much in addition. */
const HEAP_MIB = 192;
/** Milliseconds for one answer of the thread. The largest feeds take half a second. */
const READ_TIMEOUT_MS = 30_000;

export function createDocumentReader(limits: DocumentReaderLimits = {}): DocumentReader {
  const { heapMiB = HEAP_MIB, timeoutMs = READ_TIMEOUT_MS } = limits;
  const resourceLimits: ResourceLimits = { maxOldGenerationSizeMb: heapMiB, maxYoungGenerationSizeMb: 32 };
  let thread: Worker | undefined;
  /** Resolves when the latest `read` has ended: the thread reads one document at a time. */
  let last: Promise<unknown> = Promise.resolve();

  async function read(request: Omit<ReadRequest, "read">, name: DocumentName): Promise<DocumentContent> {
    const started = (thread ??= startThread(resourceLimits));
    const next = async (asked: ThreadRequest) => {
      const answer = await ask(started, asked, timeoutMs);
      if ("failure" in answer) throw new FeedFailure(name, answer.failure);
      return answer;
    };
    try {
      let chunk = await next({ read: name, ...request });
      const { document } = chunk;
      if (document === undefined) throw new Error("The thread that reads documents answered without one.");
      const records = new Map(chunk.records);
      while (!chunk.isLast) {
        chunk = await next({ read: "more" });
        for (const [id, record] of chunk.records) records.set(id, record);
      }
      const { content } = document;
      // Puts the records back into the content: the thread sends them separately, in chunks.
      return { ...document, content: "records" in content ? { ...content, records } : content } as DocumentContent;
    } catch (error) {
      if (error instanceof FeedFailure) throw error;
      thread = undefined;
      await started.terminate();
      throw failureOf(name, error);
    }
  }

  return {
    read<Name extends DocumentName>(
      name: Name,
      bytes: Uint8Array,
      now: number,
      language?: string,
      translations: readonly Translation[] = [],
    ) {
      const reading = last.then(() => read({ bytes, now, language, translations }, name));
      last = reading.catch(() => undefined);
      return reading as Promise<DocumentContent<Name>>; // what was read is of the kind that was asked for
    },
    async release() {
      const ended = thread;
      thread = undefined;
      await ended?.terminate();
    },
  };
}

function startThread(resourceLimits: ResourceLimits): Worker {
  const extension = extname(import.meta.url);
  const thread = new Worker(new URL(`./document-thread${extension}`, import.meta.url), {
    resourceLimits,
    // If this process runs from TypeScript source, the thread must resolve our packages to their source too.
    execArgv: extension === ".ts" ? ["--conditions=@bikeshare/source"] : [],
  });
  // Without a listener, an error between two requests would end the process. The next request fails, because the thread has
  // ended.
  thread.on("error", () => undefined);
  thread.unref();
  return thread;
}

/** The thread did not answer in time. */
class ReadTimeout extends Error {}

/** Sends the thread a request. @returns its answer @throws ReadTimeout, or the error that ended the thread */
async function ask(thread: Worker, request: ThreadRequest, timeoutMs: number): Promise<ThreadAnswer> {
  const stop = new AbortController();
  const { signal } = stop;
  const timer = setTimeout(() => stop.abort(new ReadTimeout()), timeoutMs);
  const ended = once(thread, "exit", { signal }).then(() => {
    throw new Error("The thread that reads documents has ended.");
  });
  // This promise also rejects when the thread emits an error.
  const answered = once(thread, "message", { signal });
  thread.postMessage(request);
  try {
    const [answer] = (await Promise.race([answered, ended])) as [ThreadAnswer];
    return answer;
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
}

/** Returns the failure of a document that took too much memory or time; other errors are returned unchanged. */
function failureOf(name: DocumentName, error: unknown): unknown {
  if (error instanceof ReadTimeout) return new FeedFailure(name, "reading it takes too long");
  const isOutOfMemory = error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
  return isOutOfMemory ? new FeedFailure(name, "reading it takes too much memory") : error;
}
