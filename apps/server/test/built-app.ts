import { pino } from "pino";
import { type App, type AppOptions, buildApp } from "../src/app.ts";
import type { ActorContext } from "../src/command-context.ts";
import { NetworkList } from "../src/outbound/addresses/address-guard.ts";
import { secrets, type TestApp } from "./app.ts";
import { closeApp } from "./close-app.ts";

/** A second app on the database of a test's app. It stands for another process. */
export interface BuiltApp {
  readonly app: App;
  readonly url: string;
  /** Parsed log lines. */
  readonly logged: readonly Record<string, unknown>[];
  close(): Promise<void>;
}

/** Builds an app and makes it listen. Its options are those of the test's app except for `changes`. */
export async function buildAnother(
  first: Pick<TestApp, "db" | "clock" | "ids">,
  changes: Partial<Omit<AppOptions, "logger">> = {},
  prepare: (app: App) => void = () => undefined,
): Promise<BuiltApp> {
  const logged: Record<string, unknown>[] = [];
  const app = await buildApp({
    db: first.db,
    clock: first.clock,
    ids: first.ids,
    logger: pino(
      { level: "info" },
      { write: (line: string) => void logged.push(JSON.parse(line) as Record<string, unknown>) },
    ),
    secrets,
    version: "0.0.0",
    baseUrl: () => "http://127.0.0.1",
    // A directory that does not exist, because most tests need no files.
    dataDir: "/nowhere",
    rateLimit: 60,
    trustedProxies: new NetworkList([]),
    publicRateLimit: 1_000_000,
    ...changes,
  });
  prepare(app);
  const url = await app.http.listen({ host: "127.0.0.1", port: 0 });
  return { app, url, logged, close: () => closeApp(app) };
}

/** Returns the context that the functions on keys need. */
export function keyContext({ db, clock, ids }: Pick<TestApp, "db" | "clock" | "ids">): ActorContext {
  return { db, clock, ids, actor: "test" };
}
