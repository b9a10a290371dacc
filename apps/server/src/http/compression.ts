import { constants } from "node:zlib";
import type { FastifyCompressOptions } from "@fastify/compress";

/** How answers are compressed for callers that ask for it. */
export const compression: FastifyCompressOptions = {
  // Compressed bodies are refused: unpacking goes on after the limit of a body's size is reached.
  globalDecompression: false,
  encodings: ["zstd", "br", "gzip"],
  // Below this, headers and latency cost more than the bytes saved.
  threshold: 1024,
  // Node's default of 11 takes 50 times as long for a tenth less: made for files that are compressed once.
  brotliOptions: { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } },
  zlibOptions: { level: 6 },
};
