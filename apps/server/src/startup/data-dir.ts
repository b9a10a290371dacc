import { access, constants } from "node:fs/promises";
import { ensureDataDir } from "@bikeshare/embedded-postgres";
import { type Config, ConfigError } from "../config.ts";
import { codeOf } from "../db/errors.ts";

/**
 * Makes the data directory where it is missing.
 * @throws ConfigError when this account cannot write there
 */
export async function prepareDataDir({ dataDir }: Pick<Config, "dataDir">): Promise<void> {
  try {
    await access(await ensureDataDir(dataDir), constants.W_OK | constants.X_OK);
  } catch (error) {
    const advice = ADVICE[codeOf(error) ?? ""];
    if (advice === undefined) throw error;
    throw new ConfigError(`DATA_DIR=${dataDir}: ${advice}`, { cause: error });
  }
}

const CHOOSE = "Set DATA_DIR to a directory that this account may write.";

const ADVICE: Readonly<Record<string, string>> = {
  EACCES: `this account may not write there. ${CHOOSE}`,
  EPERM: `this account may not write there. ${CHOOSE}`,
  EROFS: `it lies on a read-only file system. ${CHOOSE}`,
  EEXIST: `is a file, and must be a directory. ${CHOOSE}`,
  ENOTDIR: `a part of it is a file, and must be a directory. ${CHOOSE}`,
  ENOENT: `it cannot be made there. ${CHOOSE}`,
  ENOSPC: "its disk is full. Make room there, and start again.",
  EDQUOT: "this account's quota of its disk is used up. Make room there, and start again.",
};
