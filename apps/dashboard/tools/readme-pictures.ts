/**
 * Takes the pictures of the README from the sample city that `start` makes: the city's page and a failed delivery, in both
 * themes. The tool checks their size, because everybody who reads the README loads them.
 *
 * Usage: `readme-pictures.ts`, with the Node.js version of the repository, which also runs the service
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium, type Page } from "playwright-core";
import { findChromium } from "../test/browser/chromium.ts";
import { callAs } from "../test/browser/console-client.ts";
import { environment } from "../test/browser/service.ts";
import { acceptInvitation } from "../test/browser/world.ts";

const ROOT = join(import.meta.dirname, "../../..");
const PICTURES = join(ROOT, "docs/pictures");
const MAX_BYTES = 150_000;
/** The quality of the images. Too low: letters have visible artefacts. */
const QUALITY = 82;
/** Wide enough for a list with a detail beside it. */
const WINDOW = { width: 1360, height: 850 };
/** The most milliseconds to wait for a failed delivery, and for each part of a page. */
const TIMEOUT_MS = 180_000;
/** Milliseconds until charts and map are drawn and nothing moves. */
const SETTLED_MS = 3_000;

/**
 * Matches the text about today's rides when the usual number differs from the number a week ago. While the service has
 * summed only one past week, both are equal: `(?!\1 a)` rejects a second number that equals the first one.
 */
const COMPARED = /usually ([\d,]+) by now, (?!\1 a)[\d,]+ a week ago/;

/** What `start --json` prints when it is ready. */
interface Started {
  readonly url: string;
  readonly sign_in: { readonly operator: string; readonly partner: string };
}

const dataDir = await mkdtemp(join(tmpdir(), "bikeshare-pictures-"));
// If the tool runs as root, PostgreSQL runs under another account, which needs access to the directory.
await chmod(dataDir, 0o711);
// A receiver of webhooks that rejects every delivery, so that there is a failed one to show.
const receiver = createServer((request, response) => {
  request.resume();
  response.writeHead(401, { "content-type": "application/json" });
  response.end('{"error":"no signature matches"}');
});
receiver.listen(0, "127.0.0.1");
await once(receiver, "listening");
const service = spawn(
  process.execPath,
  ["--conditions=@bikeshare/source", "apps/server/bikeshare.mjs", "start", "--json"],
  {
    cwd: ROOT,
    env: environment(dataDir),
    stdio: ["ignore", "pipe", "inherit"],
  },
);
const browser = await chromium.launch({ executablePath: await findChromium(), args: ["--no-sandbox"] });
try {
  await takePictures(await started());
} finally {
  await browser.close();
  receiver.close();
  service.kill();
  await once(service, "exit");
  await rm(dataDir, { recursive: true, force: true });
}

/** Waits until the service is ready. @returns what it printed then */
async function started(): Promise<Started> {
  for await (const line of createInterface(service.stdout)) {
    const event = JSON.parse(line) as Partial<Started>;
    if (event.url !== undefined && event.sign_in !== undefined) return event as Started;
  }
  throw new Error("`start` ended before it was ready");
}

async function takePictures({ url, sign_in: links }: Started): Promise<void> {
  const [operator, partner] = [
    await acceptInvitation(url, links.operator, "Ada Lovelace"),
    await acceptInvitation(url, links.partner, "Grace Hopper"),
  ];
  const client = await callAs(partner, url);
  const [membership] = (await client.session.get()).memberships;
  const partnerId = membership?.partner_id ?? "";
  const params = { system_id: membership?.system_id ?? "", partner_id: partnerId };
  const { port } = receiver.address() as AddressInfo;
  await client.webhook.set({
    params,
    body: { url: `http://127.0.0.1:${port}/hooks`, events: ["ride.started", "ride.completed"] },
  });
  const delivery = await failedDelivery(client, params);
  await mkdir(PICTURES, { recursive: true });
  for (const theme of ["light", "dark"] as const) {
    await takePicture(`city-${theme}`, theme, operator, `${url}/dashboard/operator/overview`);
    await takePicture(
      `delivery-${theme}`,
      theme,
      partner,
      `${url}/dashboard/partners/${partnerId}/deliveries/${delivery}`,
    );
  }
}

/** Waits until a delivery fails, and returns its id. */
async function failedDelivery(
  client: Awaited<ReturnType<typeof callAs>>,
  params: { readonly system_id: string; readonly partner_id: string },
): Promise<string> {
  const end = performance.now() + TIMEOUT_MS;
  while (performance.now() < end) {
    const { data } = await client.deliveries.list({ params, query: { status: "failing" } });
    const [newest] = data;
    if (newest !== undefined) return newest.id;
    await new Promise((resolve) => {
      setTimeout(resolve, 1_000);
    });
  }
  throw new Error("the sample city has sent no webhook");
}

/**
 * Waits until the service has summed the rides of past weeks. The page then compares today with earlier weeks, and shows the
 * usual rides of stations.
 */
async function waitForSums(page: Page): Promise<void> {
  await page.getByText(COMPARED).waitFor();
  // Reloads, because an open page does not read the sums of the week again.
  await page.reload();
  await page.getByText(COMPARED).waitFor();
  await page
    .getByText(/^\d+ rides? usually$/)
    .first()
    .waitFor();
}

async function takePicture(name: string, theme: "light" | "dark", cookie: string, address: string): Promise<void> {
  const context = await browser.newContext({
    viewport: WINDOW,
    colorScheme: theme,
    locale: "en-GB",
    reducedMotion: "reduce",
  });
  context.setDefaultTimeout(TIMEOUT_MS);
  const [cookieName = "", value = ""] = cookie.split("=");
  await context.addCookies([
    { name: cookieName, value, url: new URL(address).origin, httpOnly: true, sameSite: "Lax" },
  ]);
  const page = await context.newPage();
  await page.goto(address);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.waitForFunction(() => document.querySelector("[aria-busy=true]") === null);
  if (name.startsWith("city")) await waitForSums(page);
  await page.waitForTimeout(SETTLED_MS);
  const path = join(PICTURES, `${name}.jpg`);
  await page.screenshot({ path, type: "jpeg", quality: QUALITY });
  await context.close();
  const { size } = await stat(path);
  process.stdout.write(`${path}: ${size} bytes\n`);
  if (size > MAX_BYTES) throw new Error(`${name} is larger than ${MAX_BYTES} bytes`);
}
