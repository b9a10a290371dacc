import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

/** Where systems keep the browser. */
const INSTALLED = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];
/** A Chromium from npm, for machines without one. */
const PACKAGE = "@sparticuz/chromium";
const PACKAGE_VERSION = "153.0.0";
const CACHE = join(import.meta.dirname, "../../node_modules/.cache/chromium");

/**
 * The program of the browser: the one of `CHROMIUM_PATH`, the system's, or one that npm installs now. That is 75 MB, which
 * is why it is no dependency that everybody installs.
 */
export async function findChromium(): Promise<string> {
  const given = process.env["CHROMIUM_PATH"];
  if (given !== undefined && given !== "") return given;
  return INSTALLED.find((path) => existsSync(path)) ?? installChromium();
}

async function installChromium(): Promise<string> {
  const folder = join(CACHE, "node_modules", PACKAGE);
  if (!existsSync(folder)) {
    await mkdir(CACHE, { recursive: true });
    const options = ["--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--prefix", CACHE];
    await promisify(execFile)("npm", ["install", ...options, `${PACKAGE}@${PACKAGE_VERSION}`]);
  }
  const { default: chromium } = (await import(pathToFileURL(join(folder, "build/index.js")).href)) as {
    readonly default: { executablePath(): Promise<string> };
  };
  return chromium.executablePath();
}
