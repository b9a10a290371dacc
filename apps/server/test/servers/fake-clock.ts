import { existsSync, readdirSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Debian's package `libfaketime` installs the library in a directory that is named after the processor. */
const libraries = "/usr/lib";
const library = (existsSync(libraries) ? readdirSync(libraries) : [])
  .map((directory) => join(libraries, directory, "faketime/libfaketime.so.1"))
  .find((path) => existsSync(path));

/** Whether libfaketime is installed. Without it, no process can have another time than the machine. */
export const hasFakeClocks = library !== undefined;

/** The machine's clock as one process sees it. */
export interface FakeClock {
  /** The environment variables for the process. */
  readonly env: Readonly<Record<string, string>>;
  /** Sets the clock. @param offsetSeconds seconds by which it is ahead of the machine's clock from now on */
  set(offsetSeconds: number): Promise<void>;
}

/** Creates a fake clock. @param file a file that nothing else uses, with the offset */
export async function createFakeClock(file: string, offsetSeconds = 0): Promise<FakeClock> {
  const set = async (seconds: number) => {
    // Replaces the file atomically, because the process may read it at any moment.
    await writeFile(`${file}.new`, `${seconds < 0 ? "" : "+"}${seconds}s`);
    await rename(`${file}.new`, file);
  };
  await set(offsetSeconds);
  // Fakes only the wall clock, not the monotonic clock, which nobody can set in reality either.
  const env = { FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: "1", FAKETIME_DONT_FAKE_MONOTONIC: "1" };
  return { env: { LD_PRELOAD: library ?? "", ...env }, set };
}
