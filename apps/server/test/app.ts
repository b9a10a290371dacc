import { type Scope, scopeNames } from "@bikeshare/contract";
import { createTestClock, createTestIds, type TestClock } from "@bikeshare/test-kit";
import { pino } from "pino";
import { buildApp } from "../src/app.ts";
import type { Ids } from "../src/ids.ts";
import { NetworkList } from "../src/outbound/addresses/address-guard.ts";
import { type IssuedKey, type IssueInput, issueKey } from "../src/partners/keys/service.ts";
import { createPartner } from "../src/partners/service.ts";
import { closeApp } from "./close-app.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { findUndeclaredAnswers } from "./declared-answers.ts";

/** The keys of all apps of tests. `cursorKeys` encrypt cursors, `webhookKeys` the secrets of webhooks. */
export const secrets = {
  cursorKeys: [{ id: 1, key: new Uint8Array(32).fill(7) }],
  webhookKeys: [{ id: 1, key: new Uint8Array(32).fill(8) }],
} as const;

/** A running service on a separate database, with one partner. */
export interface TestApp extends TestDatabase {
  readonly url: string;
  readonly clock: TestClock;
  readonly ids: Ids;
  readonly partnerId: string;
  /** Lines that the service logged, parsed. */
  readonly logged: readonly Record<string, unknown>[];
  /** Creates a key of the partner. Default: every scope, and a rate limit that no test reaches. */
  issue(input?: Partial<IssueInput>): Promise<IssuedKey>;
  /** Sends a GET with a key that has every scope, or with the given key. Null: without a key. */
  get(
    path: string,
    options?: { readonly key?: string | null; readonly headers?: Record<string, string> },
  ): Promise<Response>;
}

/** Builds the service as production does, on loopback and a free port. */
export async function startTestApp(): Promise<TestApp> {
  const database = await createTestDatabase();
  const { db, systemId } = database;
  const clock = createTestClock();
  const ids = createTestIds();
  const logged: Record<string, unknown>[] = [];
  const logger = pino(
    { level: "info" },
    { write: (line: string) => void logged.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const app = await buildApp({
    db,
    clock,
    ids,
    logger,
    secrets,
    version: "0.0.0",
    baseUrl: () => "http://127.0.0.1",
    // A directory that does not exist, because most tests need no files.
    dataDir: "/nowhere",
    rateLimit: 60,
    trustedProxies: new NetworkList([]),
    // No built pages. The origin is set because dashboard links can be made only if some origin may show frames.
    dashboard: { directory: "/nowhere", ready: () => Promise.resolve(), frameAncestors: ["https://portal.example"] },
    // A limit that only the tests about it reach.
    publicRateLimit: 1_000_000,
  });
  const undeclared = findUndeclaredAnswers(app);
  const context = { db, clock, ids, actor: "test" };
  const partner = await createPartner(context, systemId, "Journey Planner");
  const issue = (input: Partial<IssueInput> = {}) =>
    issueKey(context, {
      systemId,

      partnerId: partner.id,
      scopes: [...scopeNames] as Scope[],
      rateLimit: 1_000_000,
      ...input,
    });
  const everything = await issue();
  // Listens last. If the app began its first reads earlier, they would need more connections, each of which costs 20 ms of
  // processor time.
  const url = await app.http.listen({ host: "127.0.0.1", port: 0 });
  return {
    ...database,
    url,
    clock,
    ids,
    partnerId: partner.id,
    logged,
    issue,
    get: (path, { key = everything.key, headers = {} } = {}) =>
      fetch(url + path, { headers: key === null ? headers : { authorization: `Bearer ${key}`, ...headers } }),
    close: async () => {
      await closeApp(app);
      await database.close();
      if (undeclared.length > 0) throw new Error(`The contract declares no such answers: ${undeclared.join("; ")}`);
    },
  };
}
