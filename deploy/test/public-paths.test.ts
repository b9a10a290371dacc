import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { gbfsContract, mcpContract, operatorContract, partnerContract } from "@bikeshare/contract";
import { consoleContract } from "@bikeshare/contract/console";
import { mdsContract } from "@bikeshare/contract/mds";
import { sandboxContract } from "@bikeshare/contract/sandbox";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { parseAllDocuments } from "yaml";
import { isInstalled, OUTSIDE_ADDRESS, type Proxy, startHaproxy, startNginx } from "./proxies.ts";

/** What the service serves to everyone: whole trees of paths, and single paths. */
const PUBLIC_TREES = ["/v1", "/sandbox", "/mds", "/gbfs", "/downloads", "/dashboard", "/console", "/docs"];
const PUBLIC_FILES = [
  "/mcp",
  "/llms.txt",
  "/llms-full.txt",
  "/openapi.json",
  "/openapi/gbfs.json",
  "/openapi/mds.json",
  "/openapi/sandbox.json",
  "/healthz",
  "/readyz",
  "/.well-known/security.txt",
];
/** The operator's documents, which only internal networks read. */
const OPERATOR_DOCUMENTS = ["/openapi/operator.json", "/docs/operator", "/docs/operator.md"];

/** Returns the paths of a contract's endpoints. */
function pathsOf(contract: object): string[] {
  if ("method" in contract && "path" in contract) return [String(contract.path)];
  return Object.values(contract).flatMap((part: unknown) =>
    typeof part === "object" && part !== null ? pathsOf(part) : [],
  );
}

function isPublic(path: string): boolean {
  return PUBLIC_FILES.includes(path) || PUBLIC_TREES.some((tree) => path === tree || path.startsWith(`${tree}/`));
}

it("all of the contracts' paths are public, except those of the operator's interface", () => {
  const open = [partnerContract, gbfsContract, mcpContract, consoleContract, mdsContract, sandboxContract];
  for (const contract of open) {
    const paths = pathsOf(contract);
    expect(paths).not.toEqual([]);
    expect(paths.filter((path) => !isPublic(path))).toEqual([]);
  }
  expect(pathsOf(operatorContract).filter((path) => !path.startsWith("/operator/"))).toEqual([]);
});

interface Ingress {
  readonly kind: string;
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly spec: {
    readonly rules: readonly {
      readonly http: { readonly paths: readonly { readonly path: string; readonly pathType: string }[] };
    }[];
  };
}

describe("the Ingresses", () => {
  const [open, internal] = parseAllDocuments(readFileSync(join(import.meta.dirname, "../kubernetes/api.yaml"), "utf8"))
    .map((document) => document.toJS() as Ingress)
    .filter(({ kind }) => kind === "Ingress");
  const pathsOfType = (ingress: Ingress | undefined, type: string) =>
    (ingress?.spec.rules ?? [])
      .flatMap(({ http }) => http.paths)
      .flatMap(({ path, pathType }) => (pathType === type ? [path] : []))
      .sort();

  it("pass on what is public, and nothing else", () => {
    expect(pathsOfType(open, "Prefix")).toEqual([...PUBLIC_TREES].sort());
    expect(pathsOfType(open, "Exact")).toEqual([...PUBLIC_FILES].sort());
  });

  it("pass on the operator's pages below public trees only to internal networks", () => {
    expect(pathsOfType(internal, "Exact")).toEqual(OPERATOR_DOCUMENTS.filter(isPublic).sort());
    expect(pathsOfType(internal, "Prefix")).toEqual([]);
    expect(internal?.metadata.annotations).toMatchObject({
      "nginx.ingress.kubernetes.io/whitelist-source-range": "10.0.0.0/8",
    });
  });
});

/**
 * Paths that the service routes to the operator's interface, or that a proxy could resolve to another path than it passes
 * on.
 */
const DISGUISED = [
  "/operator/v1/alerts",
  "/%6Fperator/v1/alerts",
  "/%6f%70%65%72%61%74%6f%72/v1/alerts",
  "/openapi/%6Fperator.json",
  "/open%61pi/operator.json",
  "/docs/%6fperator",
  "/%64ocs/operator.md",
  "https://bikes.example.com/%6Fperator/v1/alerts",
  "/operator/v1/stations/..%2f..%2f..%2fv1",
  "/%6Fperator/v1/stations/%2e%2E%2f..%2f..%2fv1?limit=1",
  "/operator/v1/stations/..%2f..%2f..%2fv1%2f.",
  // The service routes a path that it cannot decode as if it could, and refuses it later.
  "/%6Fperator/v1/stations/%zz",
  "/%6Fperator/v1/stations/%2",
  ...OPERATOR_DOCUMENTS,
];

for (const [name, start] of [
  ["nginx", startNginx],
  ["haproxy", startHaproxy],
] as const) {
  const isHere = isInstalled(name);
  const note = isHere ? "" : ` (skipped: ${name} is not installed)`;

  describe.skipIf(!isHere)(`${name}${note}`, () => {
    const received: string[] = [];
    const service = createServer((incoming, outgoing) => {
      received.push(incoming.url ?? "");
      outgoing.end("{}");
    });
    let proxy: Proxy;
    const statusOf = async (path: string, localAddress: string) => {
      const { httpsPort: port } = proxy;
      const options = { host: "127.0.0.1", rejectUnauthorized: false, agent: false as const, port, path, localAddress };
      const call = request(options);
      call.end();
      const [answer] = (await once(call, "response")) as [IncomingMessage];
      answer.resume();
      return answer.statusCode;
    };

    beforeAll(async () => {
      service.listen(0, "127.0.0.1");
      await once(service, "listening");
      const address = service.address();
      proxy = await start(`http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`);
      const listens = () =>
        statusOf("/readyz", "127.0.0.1").then(
          (status) => status === 200,
          () => false,
        );
      await vi.waitUntil(listens, { timeout: 120_000, interval: 50 });
    });
    afterAll(async () => {
      await proxy?.close();
      service.closeAllConnections();
      service.close();
    });

    it.each(DISGUISED)("does not pass %s on from outside", async (path) => {
      expect([400, 403]).toContain(await statusOf(path, OUTSIDE_ADDRESS));
      expect(received).not.toContain(path);
    });

    it("passes the operator's interface on from internal networks", async () => {
      for (const path of ["/operator/v1/alerts", "/%6Fperator/v1/alerts", ...OPERATOR_DOCUMENTS])
        expect([path, await statusOf(path, "127.0.0.1")]).toEqual([path, 200]);
    });

    it("passes on from outside what is public, as it was sent", async () => {
      const below = PUBLIC_TREES.flatMap((tree) => [tree, `${tree}/a%2Fb..c+%C3%A9?path=/../x`]);
      for (const path of [...below, ...PUBLIC_FILES, "/v1/%6Fperator"]) {
        expect([path, await statusOf(path, OUTSIDE_ADDRESS)]).toEqual([path, 200]);
        expect(received).toContain(path);
      }
    });
  });
}
