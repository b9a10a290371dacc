/** Uploads a trip file in parts. The upload continues while the reader opens other pages of the dashboard. */
import { api, queries } from "../../api/api.ts";
import { ApiError, isWorthRetrying } from "../../api/errors.ts";

/** The progress of the file that this tab uploads. */
export interface Sending {
  readonly name: string;
  /** The share of the file's bytes that were read, 0 to 1. */
  readonly share: number;
}

/** Bytes in each part: the most that the service accepts. */
const PART_BYTES = 1024 ** 2;
/**
 * The least milliseconds between two parts, so that the upload leaves some of the person's rate limit to their other
 * requests.
 */
const PART_INTERVAL_MS = 150;
/** Most attempts for each part. With the pauses between them, they last longer than a restart of the service. */
const MAX_TRIES = 8;

/** The cache key of the progress of this tab's upload to a system. */
export const sendingKey = (systemId: string) => ["upload-sending", systemId] as const;

/** What stops this tab's latest upload to each system, by system id. */
const stops = new Map<string, AbortController>();

/** Stops this tab's upload to a system. */
export function stopSending(systemId: string): void {
  stops.get(systemId)?.abort();
}

/** Makes the browser ask before the tab is closed. */
const warn = (event: BeforeUnloadEvent) => event.preventDefault();
const wait = (ms: number) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/**
 * Uploads a file for an import. A file that is not compressed is compressed on the way, which shrinks trips to an eighth.
 */
export async function sendFile(systemId: string, file: File, timeZone: string): Promise<void> {
  const stop = new AbortController();
  stops.set(systemId, stop);
  const isPacked = /\.(?:gz|zip)$/i.test(file.name);
  const about = { file_name: file.name, size: file.size, is_packed: isPacked, time_zone: timeZone };
  const { id } = await api.uploads.begin({ params: { system_id: systemId }, body: about });
  await queries.invalidateQueries({ queryKey: ["upload", systemId] });
  let read = 0;
  const show = (sending: Sending | null) => queries.setQueryData(sendingKey(systemId), sending);
  // The file, whose bytes are counted before they are compressed: the progress is a share of the file's size.
  const counted = file.stream().pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, stream) {
        read += chunk.length;
        stream.enqueue(chunk);
      },
    }),
  );
  const packed = isPacked ? counted : counted.pipeThrough(new CompressionStream("gzip"));
  addEventListener("beforeunload", warn);
  try {
    let start = 0;
    for await (const { part, isLast } of partsOf(packed)) {
      show({ name: file.name, share: file.size === 0 ? 1 : read / file.size });
      await Promise.all([send({ systemId, id, signal: stop.signal }, start, part, isLast), wait(PART_INTERVAL_MS)]);
      start += part.length;
    }
  } finally {
    removeEventListener("beforeunload", warn);
    show(null);
  }
}

interface Upload {
  readonly systemId: string;
  readonly id: string;
  /** Stops the upload. */
  readonly signal: AbortSignal;
}

/** Sends one part, and tries again after failures that may pass. `start` is the part's position in the upload. */
async function send(
  { systemId, id, signal }: Upload,
  start: number,
  part: Uint8Array<ArrayBuffer>,
  isLast: boolean,
): Promise<void> {
  const params = { system_id: systemId, id };
  const query = { start: String(start), is_last: isLast ? ("true" as const) : ("false" as const) };
  for (let tries = 1; ; tries++) {
    signal.throwIfAborted();
    try {
      await api.uploads.send({ params, query, body: part, signal });
      return;
    } catch (error) {
      const pauseSeconds = error instanceof ApiError ? error.retryAfterSeconds : undefined;
      if (tries === MAX_TRIES || (pauseSeconds === undefined && !isWorthRetrying(error))) throw error;
      // The pause that the service asks for, or else 1, 2, 3 … seconds.
      await wait((pauseSeconds ?? tries) * 1000);
    }
  }
}

/** Cuts a stream into parts of one size. The last part may be shorter, and has `isLast`. */
async function* partsOf(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<{ part: Uint8Array<ArrayBuffer>; isLast: boolean }> {
  const reader = stream.getReader();
  let part = new Uint8Array(PART_BYTES);
  let used = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    for (let at = 0; at < value.length;) {
      // A full part is sent only when more bytes have come: otherwise it is the last one.
      if (used === PART_BYTES) {
        yield { part, isLast: false };
        part = new Uint8Array(PART_BYTES);
        used = 0;
      }
      const piece = value.subarray(at, at + PART_BYTES - used);
      part.set(piece, used);
      used += piece.length;
      at += piece.length;
    }
  }
  yield { part: part.subarray(0, used), isLast: true };
}
