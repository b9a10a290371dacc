import type { OpenApiDocument } from "@bikeshare/contract/openapi";
import type { FastifyInstance } from "fastify";
import { once } from "../../once.ts";
import { serveKept } from "../kept-document.ts";
import { type CodedBody, codedBody } from "../response-body.ts";
import { referenceMarkdown, referenceMarkdownPaths } from "./markdown-pages.ts";
import { docsHeader } from "./serve-guides.ts";

/** Serves the reference for partners, for the operator's backend and for cities, and the script that draws it. */
export function serveReference(app: FastifyInstance, hasCities: boolean, documentsOf: DocumentsOf): void {
  const type = "text/javascript; charset=utf-8";
  for (const audience of ["partners", "operator", ...(hasCities ? (["cities"] as const) : [])] as const) {
    serveKept(app, references[audience].path, {
      type: "text/html; charset=utf-8",
      make: () => codedBody(referencePage(audience), ["br", "gzip"]),
      headers: pageSecurityHeaders,
    });
    serveKept(app, startPath(audience), { type, make: () => referenceStart(audience) });
    serveKept(app, referenceMarkdownPaths[audience], {
      type: "text/markdown; charset=utf-8",
      make: async () => codedBody(referenceMarkdown(await documentsOf(audience)), ["br", "gzip"]),
    });
  }
  serveKept(app, "/docs/js/scalar.js", { type, make: referenceProgram });
}

/** The audiences of the reference. Partners do not see endpoints that they cannot call. */
const references = {
  partners: {
    path: "/docs/reference",
    title: "Reference · Bike-Sharing Data Service",
    document: "/openapi.json",
    sources: [
      { title: "For partners", slug: "partners", url: "/openapi.json" },
      { title: "Sandbox", slug: "sandbox", url: "/openapi/sandbox.json" },
      { title: "Public feeds (GBFS)", slug: "gbfs", url: "/openapi/gbfs.json" },
    ],
  },
  operator: {
    path: "/docs/operator",
    title: "The operator's interface · Bike-Sharing Data Service",
    document: "/openapi/operator.json",
    sources: [{ title: "For the operator's backend", slug: "operator", url: "/openapi/operator.json" }],
  },
  cities: {
    path: "/docs/mds",
    title: "Provider API for cities · Bike-Sharing Data Service",
    document: "/openapi/mds.json",
    sources: [{ title: "For cities (MDS)", slug: "mds", url: "/openapi/mds.json" }],
  },
};
type Audience = keyof typeof references;
/** Returns the documents that the reference of an audience is made from. */
type DocumentsOf = (audience: Audience) => Promise<readonly OpenApiDocument[]>;

/** Settings of Scalar, the program that draws the reference in the browser. */
const configuration = {
  // Fetches nothing from other servers: no fonts, no proxy, no usage reports.
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: "never" as const,
  // The search in the page's header finds the guides too. The theme is that of the guides.
  hideSearch: true,
  hideDarkModeToggle: true,
  agent: { disabled: true },
  mcp: { disabled: true },
};

/** Returns the path of the script that starts a page of the reference. */
function startPath(audience: Audience): string {
  return `/docs/js/${audience}.js`;
}

/** Returns a page of the reference. Its scripts are files of this service, as `pageSecurityHeaders` requires. */
function referencePage(audience: Audience): string {
  const { title, document } = references[audience];
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title}</title>
    <link rel="stylesheet" href="/docs/css/header.css">
    <link rel="alternate" type="text/markdown" href="${referenceMarkdownPaths[audience]}">
    <script src="/docs/js/guides.js"></script>
  </head>
  <body>
${docsHeader("reference")}
    <div id="app"></div>
    <noscript>The reference needs JavaScript. The document behind it is <a href="${document}">${document}</a>.</noscript>
    <script src="/docs/js/scalar.js"></script>
    <script src="${startPath(audience)}"></script>
  </body>
</html>
`;
}

/** Returns the script that starts a page of the reference. */
async function referenceStart(audience: Audience): Promise<CodedBody> {
  const { SCHEME } = await import("@bikeshare/contract/openapi");
  const { sources } = references[audience];
  // There is one way to sign in, so readers need not choose.
  const authentication = { preferredSecurityScheme: SCHEME };
  const options = JSON.stringify({ sources, authentication, ...configuration });
  // Requests go to the origin that the page was loaded from: another name of the same service would be another origin.
  const text = `const { theme } = document.documentElement.dataset;
const darkMode = theme === undefined ? matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark";
const forceDarkModeState = darkMode ? "dark" : "light";
const servers = [{ url: location.origin }];
Scalar.createApiReference("#app", { ...${options}, forceDarkModeState, servers });
`;
  return codedBody(text, ["br", "gzip"]);
}

/** Returns the script that draws the reference, from its package. Read once for the whole process. */
const referenceProgram = once(readProgram);

/** Reads the script from the package, which offers it only as a Fastify route: by an injected request, without a network. */
async function readProgram(): Promise<CodedBody> {
  const [{ default: fastify }, { default: scalar }] = await Promise.all([
    import("fastify"),
    import("@scalar/fastify-api-reference"),
  ]);
  const app = fastify();
  await app.register(scalar, { routePrefix: "/docs", configuration: { content: {}, ...configuration } });
  const { statusCode, rawPayload } = await app.inject("/docs/js/scalar.js");
  await app.close();
  if (statusCode !== 200) throw new Error(`the program of the reference could not be read: ${statusCode}`);
  return codedBody(rawPayload, ["br", "gzip"]);
}

/**
 * Headers that restrict the page, because people paste keys into it. The page loads only our files, calls only this service,
 * and cannot be shown in a frame.
 */
const pageSecurityHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    // The script of the reference creates its styles as it runs.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; "),
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
};
