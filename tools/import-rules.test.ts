import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";

/** For each rule, a file that violates it, by an import or by its name. */
const violations: Readonly<Record<string, { readonly file: string; readonly imports: readonly string[] }>> = {
  "contract-imports-nothing-of-ours": { file: "packages/contract/src/a.ts", imports: ["../../sdk/src/index.ts"] },
  "rules-are-self-contained": { file: "packages/rules/src/a.ts", imports: ["../../contract/src/index.ts"] },
  "pure-contract-needs-no-library": { file: "packages/contract/src/pure.ts", imports: ["./with-library.ts"] },
  "published-packages-import-the-contract-only": {
    file: "packages/webhooks/src/a.ts",
    imports: ["../../sdk/src/index.ts"],
  },
  "sdk-copies-import-one-package": { file: "packages/sdk/src/webhooks.ts", imports: ["./index.ts"] },
  "embedded-postgres-imports-nothing-of-ours": {
    file: "packages/embedded-postgres/src/a.ts",
    imports: ["../../contract/src/index.ts"],
  },
  "csv-imports-nothing-of-ours": { file: "packages/csv/src/a.ts", imports: ["../../contract/src/index.ts"] },
  "simulator-imports-the-contract-only": {
    file: "packages/simulator/src/a.ts",
    imports: ["../../sdk/src/index.ts"],
  },
  "packages-never-import-apps": { file: "packages/sdk/src/a.ts", imports: ["../../../apps/server/src/ids.ts"] },
  "apps-never-import-each-other": { file: "apps/dashboard/src/a.ts", imports: ["../../server/src/ids.ts"] },
  "source-never-imports-tests": {
    file: "apps/server/src/city/stations/tested.ts",
    imports: ["../../../test/harness.ts"],
  },
  "source-never-imports-what-is-built": {
    file: "apps/server/src/city/stations/built.ts",
    imports: ["../../../../../packages/sdk/dist/index.js"],
  },
  "no-dev-dependency-in-source": { file: "packages/csv/src/dev.ts", imports: ["only-for-tests"] },
  "no-dev-dependency-in-the-server": { file: "apps/server/src/city/stations/dev.ts", imports: ["only-for-tests"] },
  "nobody-imports-main": { file: "apps/server/src/city/stations/main-user.ts", imports: ["../../main.ts"] },
  "only-main-and-commands-build-the-app": {
    file: "apps/server/src/city/stations/app-user.ts",
    imports: ["../../app.ts"],
  },
  "only-main-runs-commands": { file: "apps/server/src/city/stations/cli-user.ts", imports: ["../../cli/keys.ts"] },
  "db-is-the-lowest": { file: "apps/server/src/storage/db/up.ts", imports: ["../../city/stations/service.ts"] },
  "lists-know-no-noun": { file: "apps/server/src/storage/lists/up.ts", imports: ["../../city/stations/service.ts"] },
  "http-knows-no-noun-inside": { file: "apps/server/src/http/in.ts", imports: ["../city/stations/queries.ts"] },
  "routes-never-import-queries": { file: "apps/server/src/city/stations/routes.ts", imports: ["./queries.ts"] },
  "service-never-imports-routes": { file: "apps/server/src/city/stations/back.ts", imports: ["./routes.ts"] },
  "service-never-imports-fastify": { file: "apps/server/src/partners/keys/service.ts", imports: ["fastify"] },
  "nouns-meet-through-verbs": {
    file: "apps/server/src/partners/keys/across.ts",
    imports: ["../../city/stations/queries.ts"],
  },
  "commands-and-demo-call-services": { file: "apps/server/src/cli/sql.ts", imports: ["../city/stations/queries.ts"] },
  "fleet-writes-bikes-and-counters-once": {
    file: "apps/server/src/city/fleet/start-rides.ts",
    imports: ["./command-queries.ts"],
  },
  "statements-live-in-queries": {
    file: "apps/server/src/city/stations/sql.ts",
    imports: ["../../storage/db/statement.ts"],
  },
  "rules-are-pure": { file: "apps/server/src/city/stations/station.rules.ts", imports: ["./queries.ts"] },
  "webhooks-queue-and-rules-are-the-lowest": {
    file: "apps/server/src/webhooks/rules/up.ts",
    imports: ["../dispatcher/lane.ts"],
  },
  "webhooks-endpoints-and-sender-know-no-dispatcher": {
    file: "apps/server/src/webhooks/sender/up.ts",
    imports: ["../dispatcher/lane.ts"],
  },
  "postgres-in-db-only": { file: "apps/server/src/city/stations/driver.ts", imports: ["pg"] },
  "redis-in-one-place-only": { file: "apps/server/src/city/stations/redis.ts", imports: ["ioredis"] },
  "redis-store-is-loaded-on-demand": {
    file: "apps/server/src/http/rate-limits/service.ts",
    imports: ["./redis-store.ts"],
  },
  "fastify-at-the-border-only": { file: "apps/server/src/city/stations/server.ts", imports: ["fastify"] },
  "rooms-use-what-is-below": { file: "apps/server/src/city/stations/up.ts", imports: ["../../webhooks/rules/due.ts"] },
  "load-knows-no-service": { file: "packages/load/src/up.ts", imports: ["../../sdk/src/index.ts"] },
  "load-test-reports-run-nothing": {
    file: "apps/load-test/src/report/up.ts",
    imports: ["../server/own-server.ts"],
  },
  "dashboard-takes-only-types-of-the-contract": {
    file: "apps/dashboard/src/api/schemas.ts",
    imports: ["../../../../packages/contract/src/index.ts"],
  },
  "dashboard-imports-what-runs-in-browsers": {
    file: "apps/dashboard/src/pages/debugger.ts",
    imports: ["../../../../packages/webhooks/src/node.ts"],
  },
  "dashboard-components-know-no-page": {
    file: "apps/dashboard/src/components/up.ts",
    imports: ["../pages/overview.ts"],
  },
  "no-cycles": { file: "apps/server/src/city/stations/circle.ts", imports: ["./rest-of-circle.ts"] },
  "no-orphans": { file: "apps/server/src/city/stations/forgotten.ts", imports: [] },
  "no-catch-all-names": { file: "apps/server/src/city/stations/util-user.ts", imports: ["./utils.ts"] },
  "no-catch-all-names-importing": { file: "apps/server/src/helpers/started.ts", imports: ["../ids.ts"] },
  resolvable: { file: "apps/server/src/city/stations/typo.ts", imports: ["./nowhere.ts"] },
};

/** The files that the files above import, and files that violate no rule. */
const innocent: Readonly<Record<string, readonly string[]>> = {
  "packages/contract/src/index.ts": [],
  "packages/contract/src/with-library.ts": ["zod"],
  "packages/sdk/src/index.ts": ["../../contract/src/index.ts"],
  "packages/sdk/dist/index.js": [],
  "apps/server/src/ids.ts": [],
  "apps/server/src/app.ts": ["./city/stations/routes.ts", "fastify"],
  "apps/server/src/main.ts": ["./app.ts", "./cli/keys.ts"],
  "apps/server/src/cli/keys.ts": ["../partners/keys/service.ts"],
  "apps/server/src/storage/db/statement.ts": [],
  "apps/server/src/storage/db/database.ts": ["pg", "./statement.ts"],
  "apps/server/src/city/stations/queries.ts": ["../../storage/db/statement.ts"],
  "apps/server/src/city/stations/service.ts": ["./queries.ts", "../../partners/keys/service.ts", "./rules/state.ts"],
  "apps/server/src/city/stations/rules/state.ts": ["../../../../../../packages/contract/src/index.ts"],
  "apps/server/src/city/fleet/command-queries.ts": ["../../storage/db/statement.ts"],
  "apps/server/src/http/rate-limits/redis-store.ts": ["ioredis"],
  "apps/server/src/city/stations/utils.ts": [],
  "apps/server/src/city/stations/rest-of-circle.ts": ["./circle.ts"],
  "apps/server/src/webhooks/dispatcher/lane.ts": ["../rules/due.ts"],
  "apps/server/src/webhooks/rules/due.ts": [],
  "apps/load-test/src/server/own-server.ts": ["../../../../packages/contract/src/index.ts"],
  "packages/rules/src/index.ts": [],
  "packages/webhooks/src/index.ts": [],
  "packages/webhooks/src/node.ts": ["./index.ts"],
  "apps/dashboard/src/pages/overview.ts": [
    "../../../../packages/rules/src/index.ts",
    "../../../../packages/webhooks/src/index.ts",
  ],
  "apps/server/test/harness.ts": ["../src/app.ts"],
};

const files = {
  ...innocent,
  ...Object.fromEntries(Object.values(violations).map(({ file, imports }) => [file, imports])),
};
const root = join(import.meta.dirname, "..");
const config = join(root, ".dependency-cruiser.mjs");

interface Violation {
  readonly rule: { readonly name: string };
  readonly from: string;
}

let directory: string;
let found: readonly Violation[];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "bikeshare-imports-"));
  const write = async (path: string, text: string) => {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  };
  for (const [file, imports] of Object.entries(files)) {
    const lines = imports.map((path, index) => `import { x as x${index} } from "${path}";\nvoid x${index};\n`);
    await write(file, `${lines.join("")}export const x = 1;\n`);
  }
  for (const name of ["pg", "fastify", "ioredis", "zod", "only-for-tests"]) {
    await write(`node_modules/${name}/package.json`, JSON.stringify({ name, main: "index.js" }));
    await write(`node_modules/${name}/index.js`, "exports.x = 1;\n");
  }
  const dependencies = { pg: "1.0.0", fastify: "1.0.0", ioredis: "1.0.0", zod: "1.0.0" };
  await write("package.json", JSON.stringify({ dependencies, devDependencies: { "only-for-tests": "1.0.0" } }));
  await write("tsconfig.json", "{}");
  const depcruise = join(root, "node_modules/.bin/depcruise");
  // The exit status is the number of violations, so it is never 0 here.
  const { stdout, stderr } = await promisify(execFile)(
    depcruise,
    ["--config", config, "--output-type", "json", "apps", "packages"],
    { cwd: directory, maxBuffer: 64 * 1024 * 1024 },
  ).catch((error: unknown) => error as { stdout: string; stderr: string });
  if (stdout === "") throw new Error(stderr);
  found = (JSON.parse(stdout) as { summary: { violations: Violation[] } }).summary.violations;
});

afterAll(() => rm(directory, { recursive: true, force: true }));

it("each import rule has a file here that breaks it", async () => {
  const { default: rules } = (await import(config)) as { default: { forbidden: { name: string }[] } };
  expect(Object.keys(violations).toSorted()).toEqual([...new Set(rules.forbidden.map(({ name }) => name).toSorted())]);
});

it.each(Object.entries(violations))("%s: a file that breaks it is refused", (rule, { file }) => {
  const broken = found.filter((violation) => violation.rule.name === rule);
  // A file with a forbidden name is refused by naming it, whoever imports it.
  expect(broken.map(({ from }) => from)).toContain(file);
});

it("files that keep the rules are not refused", () => {
  const blamed = found.filter(({ from }) => from in innocent).map(({ rule, from }) => `${rule.name}: ${from}`);
  // Ignores cycles: a violation of `no-cycles` also names the other file of the cycle.
  expect(blamed.filter((text) => !text.startsWith("no-cycles: "))).toEqual([]);
});
