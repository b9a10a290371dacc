import { MAX_DOCUMENT_BYTES } from "./document-bounds.ts";

const LINE_END = 0x0a;

/** A line that is not empty, counted from 1. Undefined bytes: it is longer than any snapshot. */
export interface Line {
  readonly line: number;
  readonly bytes: Uint8Array | undefined;
}

/**
 * Cuts bytes into lines. Only a line feed ends one: JSON may hold the other characters (U+2028 …) that readers of
 * text take for line ends.
 */
export async function* readLines(
  chunks: AsyncIterable<Buffer>,
  greatest = MAX_DOCUMENT_BYTES,
): AsyncGenerator<Line, void, undefined> {
  let parts: Buffer[] = [];
  let size = 0;
  let line = 1;
  const cut = (): Line[] => {
    const bytes = size > greatest ? undefined : Buffer.concat(parts, size);
    const isEmpty = bytes !== undefined && bytes.toString("latin1").trim() === "";
    const found = isEmpty ? [] : [{ line, bytes }];
    parts = [];
    size = 0;
    line++;
    return found;
  };
  const take = (part: Buffer) => {
    size += part.length;
    if (size > greatest) parts = [];
    else parts.push(part);
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, from)) {
      take(chunk.subarray(from, end));
      yield* cut();
      from = end + 1;
    }
    take(chunk.subarray(from));
  }
  yield* cut();
}
