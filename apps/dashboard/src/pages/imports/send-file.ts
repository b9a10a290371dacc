/** Sends a file in parts. Goes on while other pages of the dashboard are open. */
import type { ShownUpload } from "@bikeshare/contract/console";
import { api, queries } from "../../api/api.ts";
import { ApiError, isWorthRetrying } from "../../api/errors.ts";

/** How far a file is that this tab sends. */
export interface Sending {
  readonly name: string;
  /** The share of its bytes that were read, 0 to 1. */
  readonly share: number;
}

/** What may be sent as one part. */
const PART_BYTES = 1024 ** 2;
/** Milliseconds between two parts at least: the pages of the same person need some of the requests that they may make. */
const PART_INTERVAL_MS = 150;
/** Tries of a part. With the pauses between them they outlast a restart of the service. */
const MAX_TRIES = 8;

/** The key under which the file that this tab sends is kept. */
export const sendingKey = (systemId: string) => ["upload-sending", systemId] as const;

let stop = new AbortController();

/** Sends no more of the file. */
export function stopSending(): void {
  stop.abort();
}

const warn = (event: BeforeUnloadEvent) => event.preventDefault();
const wait = (ms: number) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** Sends a file that is to be imported. What is not packed is packed on the way: trips shrink to an eighth. */
export async function sendFile(systemId: string, file: File, timeZone: string): Promise<void> {
  stop = new AbortController();
  const isPacked = /\.(?:gz|zip)$/i.test(file.name);
  const about = { file_name: file.name, size: file.size, is_packed: isPacked, time_zone: timeZone };
  const { id } = await api.uploads.begin({ params: { system_id: systemId }, body: about });
  await queries.invalidateQueries({ queryKey: ["upload", systemId] });
  let read = 0;
  const show = (sending: Sending | null) => queries.setQueryData(sendingKey(systemId), sending);
  const counted = file.stream().pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, stream) {
        read += chunk.length;
        stream.enqueue(chunk);
      },
    }),
  );
  addEventListener("beforeunload", warn);
  try {
    let start = 0;
    for await (const { part, isLast } of partsOf(
      isPacked ? counted : counted.pipeThrough(new CompressionStream("gzip")),
    )) {
      show({ name: file.name, share: file.size === 0 ? 1 : read / file.size });
      await Promise.all([send(systemId, id, start, part, isLast), wait(PART_INTERVAL_MS)]);
      start += part.length;
    }
  } finally {
    removeEventListener("beforeunload", warn);
    show(null);
  }
}

async function send(
  systemId: string,
  id: string,
  start: number,
  part: Uint8Array<ArrayBuffer>,
  isLast: boolean,
): Promise<void> {
  const params = { system_id: systemId, id };
  const query = { start: String(start), is_last: isLast ? ("true" as const) : ("false" as const) };
  for (let tries = 1; ; tries++) {
    stop.signal.throwIfAborted();
    try {
      await api.uploads.send({ params, query, body: part, signal: stop.signal });
      return;
    } catch (error) {
      const pauseSeconds = error instanceof ApiError ? error.retryAfterSeconds : undefined;
      if (tries === MAX_TRIES || (pauseSeconds === undefined && !isWorthRetrying(error))) throw error;
      await wait((pauseSeconds ?? tries) * 1000);
    }
  }
}

/** Cuts a stream into parts of one size. The last one may be shorter, and is known to be it. */
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

/** Tells whether somebody is at work on an upload. */
export function isUnderWay(upload: ShownUpload | null | undefined): boolean {
  return upload !== null && upload !== undefined && ["receiving", "waiting", "running"].includes(upload.state);
}

/** What somebody who may change things can do. */
export interface UploadActions {
  /** Does something, and reads the upload again. */
  readonly act: (work: () => Promise<unknown>) => void;
  readonly discard: () => void;
  readonly isPending: boolean;
}
