import { request as plainRequest } from "node:http";
import { gbfsContract } from "@bikeshare/contract";
import { createTestClock, createTestIds, type TestClock } from "@bikeshare/test-kit";
import Fastify, { type FastifyInstance } from "fastify";
import { systemsOf } from "../../src/city/systems/service.ts";
import type { CommandContext } from "../../src/command-context.ts";
import { createSystemList } from "../../src/feeds/gbfs-out/discovery.ts";
import { FEED_MIN_AGE_MS, gbfsRoutes, type KeptPage } from "../../src/feeds/gbfs-out/routes.ts";
import { bindContract } from "../../src/http/bind.ts";
import { allowOrigins } from "../../src/http/cors.ts";
import { answerUnknownRoutes, handleErrors } from "../../src/http/errors.ts";
import { answerConditionally, compressAnswers, sendExactJsonType } from "../../src/http/response-body.ts";
import { createPageCache, type PageCache } from "../../src/storage/background/page-cache.ts";
import { openListener } from "../../src/storage/db/listener.ts";
import { createTestDatabase, type TestDatabase } from "../database.ts";

/** A database, and a process that publishes the feeds of its systems. */
export interface GbfsOutHarness extends TestDatabase {
  readonly clock: TestClock;
  readonly live: CommandContext & { readonly db: TestDatabase["db"] };
  readonly baseUrl: () => string;
  readonly http: FastifyInstance;
  readonly url: string;
  /** Starts another process on the same database. */
  process(changes?: { readonly db?: TestDatabase["db"] }): Promise<GbfsProcess>;
}

interface GbfsProcess {
  readonly http: FastifyInstance;
  readonly pages: PageCache<KeptPage>;
  readonly url: string;
}

export async function openGbfsOutHarness(): Promise<GbfsOutHarness> {
  const database = await createTestDatabase();
  const clock = createTestClock();
  const live = { db: database.db, clock, ids: createTestIds() };
  const baseUrl = () => "https://bikes.example";
  const running: GbfsProcess[] = [];
  const start: GbfsOutHarness["process"] = async (changes = {}) => {
    const started = await startProcess({ ...live, baseUrl, ...changes });
    running.push(started);
    return started;
  };
  const { http, url } = await start();
  return {
    ...database,
    clock,
    live,
    baseUrl,
    http,
    url,
    process: start,
    close: async () => {
      await Promise.all(running.map((each) => each.http.close()));
      await database.close();
    },
  };
}

/** A response as it was sent. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Sends a request. Does not use `fetch`, which handles conditional requests and caching by itself. */
export function call(url: string, headers: Record<string, string> = {}, method = "GET"): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = plainRequest(url, { method, headers }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (part: string) => (body += part));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
    });
    sent.on("error", reject).end();
  });
}

type Context = Parameters<typeof gbfsRoutes>[0];

/** Starts a process that serves the feeds, with the hooks that all responses of the service pass. */
async function startProcess(context: Context): Promise<GbfsProcess> {
  const http = Fastify({ genReqId: () => context.ids.next("req") });
  handleErrors(http);
  answerUnknownRoutes(http);
  allowOrigins(http, []);
  answerConditionally(http);
  await compressAnswers(http);
  sendExactJsonType(http);
  const pages = createPageCache<KeptPage>({
    clock: context.clock,
    listening: () => listener.listening(),
    minAgeMs: FEED_MIN_AGE_MS,
  });
  const listener = openListener({
    connectionString: context.db.connectionString,
    notifier: context.db,
    on: { stations: (systemId) => pages.clear(systemId), bikes: (systemId) => pages.clear(systemId) },
    onGap: () => pages.clearAll(),
  });
  http.addHook("onClose", () => listener.close());
  const systems = createSystemList({
    read: async () => (await systemsOf(context.db)).map(({ system_id }) => system_id),
    clock: context.clock,
  });
  bindContract(http, gbfsContract, gbfsRoutes(context, systems, pages));
  return { http, pages, url: await http.listen({ host: "127.0.0.1", port: 0 }) };
}
