import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import type { Database } from "../db/database.ts";
import { serve } from "../serve.ts";
import { type DemoOptions, fillWithDemoCity, isEmpty, makeDemoKey } from "../simulator/demo.ts";
import { resolveSystem, systemsOf } from "../systems/service.ts";
import type { CliContext } from "./context.ts";

/** `start`: the service with a made-up city where there is no data yet, for whoever wants to look at it. */
export function registerStart(program: Command, context: () => CliContext): void {
  program
    .command("start")
    .description("try it: make a city where the database is empty, serve it, print how to call it")
    .action(async () => {
      const cli = context();
      const { clock, config, ids, output, signals } = cli;
      let key: string | undefined;
      const service = await serve({
        config: { ...config, logLevel: process.stderr.isTTY ? "warn" : config.logLevel },
        clock,
        ids,
        resolveSystem: cli.resolveSystem,
        role: "all",
        prepare: async (db) => {
          key = await prepareDemo(cli, db);
        },
      });
      const { url = "" } = service;
      output.result({ ready: true, url, key: key ?? null }, welcome(url, key));
      await signals.untilStopped();
      await service.close();
    });
}

/** @returns a key to try the service with; undefined when the database holds data that `start` did not make */
async function prepareDemo(cli: CliContext, db: Database): Promise<string | undefined> {
  const { clock, config, ids, output } = cli;
  const systemId = await demoSystem(cli, db);
  const file = join(config.dataDir, "demo-key");
  const kept = await readFile(file, "utf8").catch(() => undefined);
  const options: DemoOptions = { db, systemId, clock, ids, keyKind: config.mode };
  if (!(await isEmpty(db, systemId))) return kept?.trim();
  output.note("The database is empty: making a city with 200 stations, 2,000 bikes and 50,000 past rides …");
  await fillWithDemoCity(options);
  const key = await makeDemoKey(options);
  // Kept, so that the next start can show it again: a demo's key guards nothing.
  await writeFile(file, `${key}\n`, { mode: 0o600 });
  return key;
}

async function demoSystem({ config, clock }: CliContext, db: Database): Promise<string> {
  const [first] = await systemsOf(db);
  return first?.system_id ?? resolveSystem(db, undefined, config.systemId, clock());
}

function welcome(url: string, key: string | undefined): string {
  if (key === undefined) {
    return `\nReady: ${url}\nReference: ${url}/docs\n\nThe data was not made by \`start\`: make a key with \`bikeshare partners create\` and \`bikeshare keys issue\`.\n`;
  }
  const curl = (path: string) => `  curl -H "Authorization: Bearer ${key}" "${url}${path}"`;
  return [
    "",
    `Ready:      ${url}`,
    `Reference:  ${url}/docs`,
    `Key:        ${key}`,
    "",
    "Paste into another terminal:",
    "",
    curl("/v1/stations?limit=3"),
    curl("/v1/rides?limit=3"),
    curl("/v1/me"),
    "",
    "Ctrl-C stops it; the data stays.",
    "",
  ].join("\n");
}
