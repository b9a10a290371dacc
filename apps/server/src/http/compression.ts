import { constants } from "node:zlib";
import fastifyCompress from "@fastify/compress";
import type { FastifyInstance, RouteOptions } from "fastify";
import { scopeOfRoute } from "./caller.ts";

/**
 * Compresses answers for callers that ask for it and have a key, and so a rate. What anybody may ask for is kept
 * compressed or is sent as it is: compressing it for each request would cost us more than it costs to ask.
 */
export async function compressAnswers(app: FastifyInstance): Promise<void> {
  app.addHook("onRoute", (route: RouteOptions) => {
    const tsRestRoute = route.config?.tsRestRoute;
    if (tsRestRoute === undefined || scopeOfRoute(tsRestRoute) === "none") route.compress = false;
  });
  await app.register(fastifyCompress, {
    // Compressed bodies are refused: unpacking goes on after the limit of a body's size is reached.
    globalDecompression: false,
    encodings: ["zstd", "br", "gzip"],
    // Below this, headers and latency cost more than the bytes saved.
    threshold: 1024,
    // Node's default of 11 takes 50 times as long for a tenth less: made for files that are compressed once.
    brotliOptions: { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } },
    zlibOptions: { level: 6 },
  });
}
