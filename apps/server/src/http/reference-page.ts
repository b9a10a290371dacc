import { SCHEME } from "@bikeshare/contract/openapi";
import { codedBody, type CodedBody } from "./coded-body.ts";

/** Whom a page of the reference is for. Partners are not shown what they cannot call. */
const references = {
  partners: {
    title: "Bike-Sharing Data Service: reference",
    document: "/openapi.json",
    sources: [
      { title: "For partners", slug: "partners", url: "/openapi.json" },
      { title: "Public feeds (GBFS)", slug: "gbfs", url: "/openapi/gbfs.json" },
    ],
  },
  operator: {
    title: "Bike-Sharing Data Service: the operator's interface",
    document: "/openapi/operator.json",
    sources: [{ title: "For the operator's backend", slug: "operator", url: "/openapi/operator.json" }],
  },
};
export type Audience = keyof typeof references;

const configuration = {
  // There is one way to sign in, so nobody needs to choose it.
  authentication: { preferredSecurityScheme: SCHEME },
  // Nothing is fetched from anywhere else: no fonts, no proxy, no usage reports.
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: "never" as const,
  agent: { disabled: true },
  mcp: { disabled: true },
};

/** The path of the program that starts a page of the reference. */
export function startPath(audience: Audience): string {
  return `/docs/js/${audience}.js`;
}

/** A page of the reference. All that runs on it comes from files of ours, as its policy asks. */
export function referencePage(audience: Audience): string {
  const { title, document } = references[audience];
  return `<!doctype html>
<html lang="en">
  <head>
    <title>${title}</title>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
  </head>
  <body>
    <div id="app"></div>
    <noscript>The reference needs JavaScript. The document behind it is <a href="${document}">${document}</a>.</noscript>
    <script src="/docs/js/scalar.js"></script>
    <script src="${startPath(audience)}"></script>
  </body>
</html>
`;
}

/** The program that starts a page of the reference. */
export function referenceStart(audience: Audience): string {
  const { sources } = references[audience];
  return `Scalar.createApiReference("#app", ${JSON.stringify({ sources, ...configuration })});\n`;
}

let program: Promise<CodedBody> | undefined;

/** The program that draws the reference, as its package has it: read once for the whole process. */
export function referenceProgram(): Promise<CodedBody> {
  program ??= readProgram();
  return program;
}

/** The package shows its program over a route only: it is asked once, without a network. */
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
 * What the page may do: people paste keys into it. It runs files of ours only, asks this service only, and stands in no
 * other page's frame.
 */
export function pageSecurityHeaders(baseUrl: string): Readonly<Record<string, string>> {
  const service = URL.parse(baseUrl)?.origin ?? "";
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    // The reference makes its styles as it runs.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    `connect-src 'self' ${service}`.trimEnd(),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    "content-security-policy": policy.join("; "),
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
  };
}
