/** What reading gives for a body that is too large. */
export const tooLarge = Symbol("too large");
export type TooLarge = typeof tooLarge;

/** Puts a body together from its chunks. */
export interface Collector {
  /** Whether the body is still within bounds. Once it is not, nothing more is kept. */
  add(chunk: Uint8Array): boolean;
  bytes(): Uint8Array;
}

/** @param maxBytes the largest body that is kept */
export function createCollector(maxBytes: number): Collector {
  const chunks: Uint8Array[] = [];
  let length = 0;
  return {
    add(chunk) {
      length += chunk.length;
      if (length <= maxBytes) chunks.push(chunk);
      else chunks.length = 0;
      return length <= maxBytes;
    },
    bytes() {
      const body = new Uint8Array(length);
      let at = 0;
      for (const chunk of chunks) {
        body.set(chunk, at);
        at += chunk.length;
      }
      return body;
    },
  };
}
