import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { memoryMiB } from "@bikeshare/load";
import { describeMachine, inDirectory, MAIN, say } from "./processes.ts";
import { openDataSets, RIDDEN_MONTH } from "./reading/data-sets.ts";

/*
 * Measures `export rides` for a month: the time, the size of the file, and the peak memory of the process (resident set, in
 * MB of 10^6 bytes). `pnpm bench export-rides [rides] [format] [privacy]`
 */
const RIDES = Number(process.argv[2] ?? 2_000_000);
const [, , , FORMAT, PRIVACY] = process.argv;
/** The kinds of files to measure. A format or privacy that is not given selects all of them. */
const FILES = [
  ["csv", "stations"],
  ["csv", "coarse"],
  ["parquet", "stations"],
  ["parquet", "coarse"],
].filter(([format, privacy]) => format === (FORMAT ?? format) && privacy === (PRIVACY ?? privacy));

const sets = await openDataSets();
try {
  const connectionString = await sets.of(RIDES, "month_rides");
  say(describeMachine());
  await inDirectory(async (directory) => {
    for (const [format = "", privacy = ""] of FILES) await measure({ directory, connectionString, format, privacy });
  });
} finally {
  await sets.close();
}

/** An export, and the directory in which its file is written. */
interface Measured {
  readonly directory: string;
  readonly connectionString: string;
  readonly format: string;
  readonly privacy: string;
}

async function measure({ directory, connectionString, format, privacy }: Measured): Promise<void> {
  const out = join(directory, `${format}-${privacy}`);
  await mkdir(out);
  const begun = performance.now();
  const words = [
    "export",
    "rides",
    "--json",
    "--month",
    RIDDEN_MONTH,
    "--format",
    format,
    "--privacy",
    privacy,
    "--out",
    out,
  ];
  const child = spawn(process.execPath, ["--conditions=@bikeshare/source", MAIN, ...words], {
    env: { ...process.env, DATABASE_URL: connectionString, DATA_DIR: directory },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let answer = "";
  child.stdout.on("data", (chunk: Buffer) => (answer += chunk.toString()));
  const exited = once(child, "close");
  let peakMiB = 0;
  let isOver = false;
  const watched = (async () => {
    while (!isOver) {
      const memory = await memoryMiB(child.pid ?? 0);
      // The memory of a process that has ended is NaN.
      if (memory > peakMiB) peakMiB = memory;
      await sleep(50);
    }
  })();
  await exited;
  isOver = true;
  await watched;
  const seconds = (performance.now() - begun) / 1000;
  // `merged`: the rides that name regions instead of stations; null unless the privacy is `coarse`.
  const result = JSON.parse(answer) as { files: { name: string; rows: number }[]; merged: number | null };
  const [file] = result.files;
  const { size } = await stat(join(out, file?.name ?? ""));
  const share = `${file?.rows ?? 0} rows, ${result.merged ?? 0} of them by region`;
  const speed = `${seconds.toFixed(0)} s, ${Math.round(RIDES / seconds)} rides/s`;
  const peakMb = Math.round((peakMiB * 2 ** 20) / 1e6);
  say(`${format} ${privacy}: ${share}, ${(size / 1e6).toFixed(0)} MB, ${speed}, at most ${peakMb} MB of memory`);
}
