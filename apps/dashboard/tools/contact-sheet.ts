/**
 * Draws one picture of all pages from the screenshots of the browser tests: each page wide and narrow, light and dark. It
 * shows differences between pages at a glance. Run the browser tests with `TEST_SCREENSHOTS=1` first.
 *
 * Usage: `contact-sheet.ts [words of the pages' names …]`
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { findChromium } from "../test/browser/chromium.ts";

const DIRECTORY = join(import.meta.dirname, "../test-output");
const FORMS = ["desktop-light", "desktop-dark", "phone-light", "phone-dark"] as const;
const SHEET = "contact-sheet.png";

/** The sizes of the cells in pixels. A page that is longer than its cell is cut off. */
const CELL = { desktop: 360, phone: 110, height: 240 };

const words = process.argv.slice(2);
const names = await screenshotNames();
if (names.length === 0) {
  process.stderr.write("No screenshots match. Run the browser tests with TEST_SCREENSHOTS=1 first.\n");
  process.exit(1);
}
const browser = await chromium.launch({ executablePath: await findChromium(), args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 2_040, height: 800 } });
// The sheet names its images relative to the directory, and only a page of a file may load files.
await page.goto(pathToFileURL(`${DIRECTORY}/`).href);
await page.setContent(sheet(names), { waitUntil: "networkidle" });
await page.screenshot({ path: join(DIRECTORY, SHEET), fullPage: true });
await browser.close();
process.stdout.write(`${join(DIRECTORY, SHEET)}\n`);

/** Returns the names of the pages that have all four screenshots: `page-operator-keys`. */
async function screenshotNames(): Promise<readonly string[]> {
  const files = new Set(await readdir(DIRECTORY).catch(() => []));
  const [first] = FORMS;
  return [...files]
    .filter((file) => file.endsWith(`-${first}.png`))
    .map((file) => file.slice(0, -`-${first}.png`.length))
    .filter((name) => FORMS.every((form) => files.has(`${name}-${form}.png`)))
    .filter((name) => words.length === 0 || words.some((word) => name.includes(word)))
    .toSorted();
}

function sheet(pages: readonly string[]): string {
  const cells = pages.map(
    (name) =>
      `<figure><figcaption>${name}</figcaption>${FORMS.map((form) => `<span class="${form}"><img src="${name}-${form}.png"></span>`).join("")}</figure>`,
  );
  return `<!doctype html><style>
    body { display: grid; grid-template-columns: repeat(2, auto); gap: 20px; margin: 20px; background: #8a8f98; font: 12px sans-serif }
    figure { display: flex; flex-wrap: wrap; gap: 6px; margin: 0 }
    figcaption { flex-basis: 100%; font-weight: 600 }
    span { width: ${CELL.phone}px; height: ${CELL.height}px; overflow: hidden }
    span[class^="desktop"] { width: ${CELL.desktop}px }
    img { display: block; width: 100% }
  </style>${cells.join("")}`;
}
