import { mkdir, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { createTestIds } from "@bikeshare/test-kit";
import { Command } from "@commander-js/extra-typings";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { examples, NOW, openTripImportHarness, type TripImportHarness } from "../../test/trips/trip-import.harness.ts";
import { readConfig } from "../config.ts";
import { listImports } from "../feeds/imports/service.ts";
import type { CliContext } from "./context.ts";
import { registerImportTrips } from "./imports.ts";

let harness: TripImportHarness;
let printed: {
  readonly facts: object | undefined;
  readonly notes: readonly string[];
  readonly object: Record<string, unknown>;
}[];
let notes: string[];
const ids = createTestIds();
beforeEach(async () => {
  harness = await openTripImportHarness();
  printed = [];
  notes = [];
});
afterEach(() => harness.close());

async function run(...args: string[]): Promise<void> {
  const context: CliContext = {
    config: readConfig({ DATA_DIR: join(await harness.write("x", ""), "..", "data") }, "/"),
    clock: () => NOW,
    signals: { untilStopped: () => Promise.withResolvers<void>().promise },
    ids,
    actor: "cli:test",
    system: undefined,
    output: {
      json: true,
      result: (result) => {
        const { object, facts } = result;
        printed.push({ object: { ...object }, facts, notes: result.notes ?? [] });
        if (result.failure !== undefined) throw new Error(result.failure);
      },
      note: (text) => void notes.push(text),
      progress: () => undefined,
    },
    openDatabaseAsIs: () => Promise.reject(new Error("imports migrate first")),
    withDatabase: (work) => work(harness.db, []),
    resolveSystem: () => Promise.resolve(harness.systemId),
  };
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  registerImportTrips(
    program,
    () => context,
    () => Readable.from([Buffer.from(examples.lyft)]),
  );
  for (const command of program.commands) command.exitOverride().configureOutput({ writeErr: () => undefined });
  await program.parseAsync(["trips", ...args], { from: "user" });
}

describe("import trips", () => {
  it("prints what was done, once as fields and once in words", async () => {
    await run(await harness.write("a.csv", examples.lyft), "--time-zone", "America/New_York");
    expect(printed).toMatchObject([
      { object: { rows: 3, created: 3, unchanged: 0, rejected: 0, reasons: {}, refused: [] } },
    ]);
    expect(printed[0]?.facts).toMatchObject({ rows: { rows: 3, created: 3 } });
    expect(printed[0]?.object["report"]).toMatch(/reports\/import_\d+\.ndjson$/);
  });

  it("fails, naming the file and the reason, when a file was refused, and prints what was done with the others", async () => {
    const files = [await harness.write("bad.csv", "a,b\n1,2\n"), await harness.write("good.csv", examples.lyft)];
    await expect(run(...files, "--time-zone", "America/New_York")).rejects.toThrow(/bad\.csv, row 1: refused.*header/);
    expect(printed).toMatchObject([{ object: { created: 3, refused: [{ row: 1, reason: "unknown_header" }] } }]);
  });

  it("says with --dry-run what it would do, to the row, and writes nothing", async () => {
    const zone = ["--time-zone", "America/New_York"];
    const [header = "", ...rows] = examples.lyft.trimEnd().split("\n");
    await run(await harness.write("a.csv", [header, rows[0] ?? ""].join("\n")), ...zone);
    const changed = (rows[1] ?? "").replace("casual", "member");
    const files = [
      await harness.write("b.csv", `${examples.lyft}${changed}\n${rows[2] ?? ""}\n`),
      await harness.write("c.csv", `${header}\n${rows[1] ?? ""}\n${(rows[0] ?? "").replace("member", "casual")}`),
    ];
    const before = [await harness.rides(), await harness.stations(), await listImports(harness.db, harness.systemId)];
    await run(...files, ...zone, "--dry-run");
    const would = printed.at(-1)?.object;
    expect(would).toMatchObject({ dry_run: true, rows: 7, created: 2, unchanged: 3, rejected: 2, report: null });
    expect(would).toMatchObject({ first: "2021-02-03T15:00:00.000Z", last: "2021-02-04T04:11:28.000Z" });
    expect(printed.at(-1)?.notes).toEqual(["Nothing was written (--dry-run)."]);
    expect([await harness.rides(), await harness.stations(), await listImports(harness.db, harness.systemId)]).toEqual(
      before,
    );
    expect(await readdir(join(files[0] ?? "", "../data/reports"))).toHaveLength(1);
    const report = join(files[0] ?? "", "../asked.ndjson");
    await run(...files, ...zone, "--dry-run", "--report", report);
    expect(await readFile(report, "utf8")).toContain("duplicate_id");
    await run(...files, ...zone);
    const did = printed.at(-1)?.object;
    for (const field of ["rows", "created", "unchanged", "rejected", "reasons", "first", "last", "stations_created"]) {
      expect([field, did?.[field]]).toEqual([field, would?.[field]]);
    }
  });

  it("asks whether it was another time zone, names the import and its zone, and fails where nothing could be taken", async () => {
    const [header = "", row = ""] = examples.citiBike.split("\n");
    const rides = Array.from({ length: 5 }, (_, n) => row.replace("29612", String(n)));
    const file = await harness.write("a.csv", [header, ...rides].join("\n"));
    await run(file, "--time-zone", "Europe/Oslo");
    const id = String(printed[0]?.object["id"]);
    await run(file, "--time-zone", "Europe/Oslo");
    expect(printed.at(-1)?.object).toMatchObject({ unchanged: 5, time_shift: null });
    await expect(run(file, "--time-zone", "America/New_York")).rejects.toThrow(/None of 5 rows.*duplicate_id/);
    expect(printed.at(-1)?.object).toMatchObject({ time_shift: { rows: 5, seconds: -21_600, import_id: id } });
    expect(notes.at(-1)).toMatch(/6 h earlier\. Was it another time zone\?/);
    expect(notes.at(-1)).toMatch(new RegExp(`${id}, which read them as Europe/Oslo.*America/New_York`));
    expect(notes.at(-1)).toContain(`import undo ${id}`);
  });

  it("takes standard input, and leaves neither a record nor a report of a file that is not there", async () => {
    await run("-", "--time-zone", "America/New_York");
    expect(printed.at(-1)?.object).toMatchObject({ created: 3 });
    await expect(run("/nowhere.csv", "--time-zone", "America/New_York")).rejects.toThrow(/no such file/);
    expect(printed.at(-1)?.object).toMatchObject({ id: null, report: null });
    expect(await listImports(harness.db, harness.systemId)).toHaveLength(1);
  });

  it("keeps the newest hundred reports, and other files", async () => {
    const reports = join(await harness.write("x", ""), "../data/reports");
    await mkdir(reports, { recursive: true });
    for (let n = 0; n < 102; n++) {
      const path = join(reports, n === 101 ? "notes.txt" : `import_${n}.ndjson`);
      await writeFile(path, "");
      await utimes(path, n, n);
    }
    await run(await harness.write("a.csv", examples.lyft), "--time-zone", "America/New_York");
    const left = await readdir(reports);
    expect(left).toHaveLength(101);
    expect(left).toContain("notes.txt");
    expect(left).not.toContain("import_0.ndjson");
    expect(left).not.toContain("import_1.ndjson");
  });

  it.each([
    [["--time-zone", "Mars/Olympus"]],
    [["--time-zone", "+01:00"]],
    [["--time-zone", "EST"]],
    [["--time-zone", "Japan"]],
    [[]],
    [["--time-zone", "Europe/Oslo", "--source", "a b"]],
    [["--time-zone", "Europe/Oslo", "--source", "operator"]],
  ])("refuses %j before it opens a file", async (options) => {
    await expect(run("/nowhere.csv", ...options)).rejects.toThrow(/--time-zone|--source/);
    expect(printed).toEqual([]);
  });
});
