import { existsSync, readdirSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Debian's package `libfaketime` has it in a directory that is named after the processor. */
const libraries = "/usr/lib";
const library = (existsSync(libraries) ? readdirSync(libraries) : [])
  .map((directory) => join(libraries, directory, "faketime/libfaketime.so.1"))
  .find((path) => existsSync(path));

/** Without it no process can be given another time than the machine's. */
export const hasFakeClocks = library !== undefined;

/** The machine's clock as one process sees it. */
export interface FakeClock {
  /** For the process. */
  readonly env: Readonly<Record<string, string>>;
  /** @param offsetSeconds by which it is ahead of the machine's from now on */
  set(offsetSeconds: number): Promise<void>;
}

/** @param file that nobody else uses */
export async function createFakeClock(file: string, offsetSeconds = 0): Promise<FakeClock> {
  const set = async (seconds: number) => {
    // As a whole: the process may read it at any moment.
    await writeFile(`${file}.new`, `${seconds < 0 ? "" : "+"}${seconds}s`);
    await rename(`${file}.new`, file);
  };
  await set(offsetSeconds);
  // Only the clock that people set: no one sets the one that measures how long things take.
  const env = { FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: "1", FAKETIME_DONT_FAKE_MONOTONIC: "1" };
  return { env: { LD_PRELOAD: library ?? "", ...env }, set };
}
