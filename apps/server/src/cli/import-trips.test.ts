import { join } from "node:path";
import { createTestIds } from "@bikeshare/test-kit";
import { Command, CommanderError } from "commander";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { examples, type ImportRoom, NOW, openImportRoom } from "../../test/trip-import-room.ts";
import { readConfig } from "../config.ts";
import type { CliContext } from "./context.ts";
import { registerImportTrips } from "./import-trips.ts";

let room: ImportRoom;
let printed: { object: Record<string, unknown>; text: string }[];
beforeEach(async () => {
  room = await openImportRoom();
  printed = [];
});
afterEach(() => room.close());

async function run(...args: string[]): Promise<void> {
  const context: CliContext = {
    config: readConfig({ DATA_DIR: join(await room.write("x", ""), "..", "data") }, "/"),
    clock: () => NOW,
    signals: { untilStopped: () => Promise.withResolvers<void>().promise },
    ids: createTestIds(),
    actor: "cli:test",
    output: {
      json: true,
      result: (object, text) => void printed.push({ object, text }),
      note: () => undefined,
      progress: () => undefined,
    },
    withDatabase: (work) => work(room.db, []),
    resolveSystem: () => Promise.resolve(room.systemId),
  };
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  registerImportTrips(program, () => context);
  for (const command of program.commands) command.exitOverride().configureOutput({ writeErr: () => undefined });
  await program.parseAsync(["trips", ...args], { from: "user" });
}

describe("import trips", () => {
  it("prints what was done, once as fields and once in words", async () => {
    await run(await room.write("a.csv", examples.lyft), "--time-zone", "America/New_York");
    expect(printed).toMatchObject([
      { object: { rows: 3, created: 3, unchanged: 0, rejected: 0, reasons: {}, refused: [] } },
    ]);
    expect(printed[0]?.text).toContain("3 rows: 3 rides created");
    expect(printed[0]?.object["report"]).toMatch(/reports\/import_\d+\.ndjson$/);
  });

  it("fails, naming the file and the reason, when a file was refused, and prints what was done with the others", async () => {
    const files = [await room.write("bad.csv", "a,b\n1,2\n"), await room.write("good.csv", examples.lyft)];
    await expect(run(...files, "--time-zone", "America/New_York")).rejects.toThrow(/bad\.csv, row 1: refused.*header/);
    expect(printed).toMatchObject([{ object: { created: 3, refused: [{ row: 1, reason: "unknown_header" }] } }]);
  });

  it.each([[["--time-zone", "Mars/Olympus"]], [[]], [["--time-zone", "Europe/Oslo", "--source", "a b"]]])(
    "refuses %j before it opens a file",
    async (options) => {
      await expect(run("/nowhere.csv", ...options)).rejects.toThrow(CommanderError);
      expect(printed).toEqual([]);
    },
  );
});
