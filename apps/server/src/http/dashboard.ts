import { hash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";
import { serviceError } from "@bikeshare/rules";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logo } from "../runtime/startup/dashboard-pages.ts";
import { sendError } from "./errors.ts";
import { sendKept } from "./kept-document.ts";
import type { MapArchive } from "./map-archive.ts";
import { type CodedBody, codedBody } from "./response-body.ts";

/** The dashboard's built pages, the operator's map tiles and logo, and the origins that may show the pages in a frame. */
export interface DashboardOptions {
  /** The directory of the built pages. */
  readonly directory: string;
  /** Resolves when the pages have been built, or could not be. */
  readonly ready: () => Promise<void>;
  /** Origins whose pages may show the dashboard in a frame. */
  readonly frameAncestors?: readonly string[];
  /** The source of street pictures for maps; undefined: maps show no streets. */
  readonly mapTiles?: MapTiles | undefined;
  /** The operator's logo. */
  readonly logo?: Logo | undefined;
}

/** Pictures of streets for maps, from a server of the operator's choice or from an archive. */
export interface MapTiles {
  /** The address of a tile, with `{z}`, `{x}` and `{y}`. */
  readonly url: string;
  /** The makers of the map, whom every page with the map must name. */
  readonly attribution: string;
  /** The file with the tiles; undefined: another server has them. */
  readonly archive?: MapArchive | undefined;
}

const TILES_PATH = "/dashboard/map-tiles";

/** Returns the address of an archive's tiles. It changes with the file, so that browsers may cache tiles forever. */
export function archiveUrl({ version }: MapArchive): string {
  return `${TILES_PATH}/{z}/{x}/{y}?v=${version}`;
}

/** The path of the operator's logo. */
const LOGO_PATH = "/dashboard/logo";

/** Returns the address of the operator's logo. It changes with the logo, so that browsers may cache the logo forever. */
export function logoUrl(logo: Logo): string {
  return `${LOGO_PATH}?v=${hash("sha1", logo.bytes, "base64url").slice(0, 8)}`;
}

/** Files in this folder have a hash of their content in their name, so that browsers may cache them forever. */
const HASHED_FILES = /^assets\//;
const FOREVER = "public, max-age=31536000, immutable";
/** Browsers cache the file but ask at each use whether it has changed, so that a new version is seen at once. */
const REVALIDATED = "no-cache";

const types: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".map": "application/json",
  ".svg": "image/svg+xml",
};

/** Serves the built dashboard below /dashboard: its files, and index.html at the address of every page. */
export function serveDashboard(app: FastifyInstance, options: DashboardOptions): void {
  const files = keepFiles(options);
  const headers = pageSecurityHeaders(options);
  const answer = async (request: FastifyRequest, reply: FastifyReply, path: string): Promise<FastifyReply> => {
    const found = await files();
    const file = found?.get(path);
    // A path without a file is a page's address, except a hashed file, which is one of an earlier build.
    const isPage = file === undefined && !HASHED_FILES.test(path);
    reply.header("x-content-type-options", "nosniff").header("referrer-policy", "no-referrer");
    if (isPage || path === "index.html") {
      reply.headers(headers).header("content-type", types[".html"]).header("cache-control", REVALIDATED);
      const page = found?.get("index.html");
      return page === undefined ? reply.code(503).send(NOT_BUILT) : sendKept(page, request, reply);
    }
    if (file === undefined) return sendError(reply, request, serviceError("not_found", "path"));
    reply
      .header("content-type", types[extname(path)] ?? "application/octet-stream")
      .header("cache-control", HASHED_FILES.test(path) ? FOREVER : REVALIDATED);
    return sendKept(file, request, reply);
  };
  if (options.logo !== undefined) serveLogo(app, options.logo);
  if (options.mapTiles?.archive !== undefined) serveTiles(app, options.mapTiles.archive);
  app.get("/dashboard", (request, reply) => answer(request, reply, "index.html"));
  app.get<{ Params: { "*": string } }>("/dashboard/*", (request, reply) => answer(request, reply, request.params["*"]));
}

/** Serves the logo. An SVG may contain scripts: the policy keeps them from running when somebody opens the logo itself. */
function serveLogo(app: FastifyInstance, { bytes, type }: Logo): void {
  const body = codedBody(bytes, type === "image/png" ? [] : ["br", "gzip"]);
  app.get(LOGO_PATH, (request, reply) =>
    sendKept(
      body,
      request,
      reply
        .header("content-type", type)
        .header("cache-control", FOREVER)
        .header("x-content-type-options", "nosniff")
        .header("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox"),
    ),
  );
}

/** Serves an archive's tiles. Answers 204 where the archive has no tile, because a map shows more than one city's area. */
function serveTiles(app: FastifyInstance, archive: MapArchive): void {
  app.get<{ Params: Record<"z" | "x" | "y", string> }>(`${TILES_PATH}/:z/:x/:y`, async (request, reply) => {
    const { z, x, y } = request.params;
    if (![z, x, y].every((text) => /^\d{1,8}$/.test(text)))
      return sendError(reply, request, serviceError("not_found", "path"));
    const tile = await archive.tile(Number(z), Number(x), Number(y));
    reply.header("cache-control", FOREVER).header("x-content-type-options", "nosniff");
    return tile === undefined ? reply.code(204).send() : reply.header("content-type", archive.mediaType).send(tile);
  });
}

const NOT_BUILT = `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><title>The dashboard is not built</title></head>
  <body>
    <h1>The dashboard is not built</h1>
    <p>The service works; its pages are missing. In the repository, build them with
    <code>npx -y pnpm@12 --filter @bikeshare/dashboard run build</code>, and reload this page.</p>
  </body>
</html>
`;

/** The files by their paths below the directory, each with its compressed forms. */
type Files = ReadonlyMap<string, CodedBody>;

/**
 * Keeps all files in memory, and reads them again when index.html was written.
 * @returns a function that returns the files; undefined: index.html is missing, or a new build is replacing the files
 */
function keepFiles({ directory, ready }: DashboardOptions): () => Promise<Files | undefined> {
  let kept: { readonly writtenAt: number; readonly files: Promise<Files> } | undefined;
  return async () => {
    await ready();
    const page = await stat(join(directory, "index.html")).catch(() => undefined);
    if (page === undefined) return undefined;
    if (kept?.writtenAt !== page.mtimeMs) kept = { writtenAt: page.mtimeMs, files: readFiles(directory) };
    try {
      return await kept.files;
    } catch {
      // Most likely a new build is replacing the files. The next request reads them again.
      kept = undefined;
      return undefined;
    }
  };
}

async function readFiles(directory: string): Promise<Files> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const bodies = files.map(async (file) => {
    const path = relative(directory, file).replaceAll(sep, "/");
    return [path, codedBody(await readFile(file), ["br", "gzip"])] as const;
  });
  return new Map(await Promise.all(bodies));
}

/**
 * Returns headers that restrict the pages, because people sign in on them and they show responses of unknown servers. Pages
 * load only our files and the pictures of the map's server, call only this service, and cannot insert HTML.
 */
function pageSecurityHeaders({
  frameAncestors = [],
  mapTiles,
}: Pick<DashboardOptions, "frameAncestors" | "mapTiles">): Readonly<Record<string, string>> {
  // The map's pictures come from another server, unless this service has them in an archive.
  const tileOrigin = mapTiles === undefined || mapTiles.archive !== undefined ? "" : ` ${new URL(mapTiles.url).origin}`;
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self'${tileOrigin}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
    `frame-ancestors ${frameAncestors.length === 0 ? "'none'" : frameAncestors.join(" ")}`,
  ];
  return {
    "content-security-policy": policy.join("; "),
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=()",
    ...(frameAncestors.length === 0 && { "x-frame-options": "DENY" }),
  };
}
