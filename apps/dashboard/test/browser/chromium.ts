import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

/** The usual paths of an installed browser. */
const INSTALLED = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];
/** The npm package with a Chromium, for machines without a browser. */
const PACKAGE = "@sparticuz/chromium";
const PACKAGE_VERSION = "153.0.0";
const CACHE = join(import.meta.dirname, "../../node_modules/.cache/chromium");

/**
 * Returns the path of the browser's program: `CHROMIUM_PATH`, an installed browser, or one that npm installs now. The
 * package is no dependency, because not everybody should download 75 MB.
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
