import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { build } from "vite";
import { afterAll, beforeAll, it } from "vitest";
import { ALL_LOOKS, inspect, openBrowser } from "./browser.harness.ts";

const { visit, allow } = openBrowser();
const types: Readonly<Record<string, string>> = {
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};

let directory: string;
let server: Server;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "bikeshare-examples-"));
  // Builds the page of examples here, because production builds, and so the service, do not have it.
  await build({
    root: join(import.meta.dirname, "../.."),
    mode: "development",
    logLevel: "silent",
    build: { outDir: directory },
  });
  server = createServer((request, response) => {
    const path = (request.url ?? "").replace(/^\/dashboard\//, "");
    const isFile = extname(path) !== "";
    readFile(join(directory, isFile ? path : "index.html")).then(
      (bytes) => response.writeHead(200, { "content-type": types[extname(path)] ?? "text/html" }).end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
});
afterAll(async () => {
  server.close();
  await rm(directory, { recursive: true, force: true });
});

it("every component with all its states can be read and used by everybody", async () => {
  const { page } = await visit();
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/dashboard/_components`);
  await page.getByRole("heading", { name: "Components", exact: true }).waitFor();
  await inspect(page, "components", ALL_LOOKS);
  await page.getByRole("button", { name: "Open a dialog" }).click();
  await page.getByRole("dialog", { name: "Revoke the key?" }).waitFor();
  await inspect(page, "components-dialog", ALL_LOOKS);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Actions", exact: true }).click();
  await page.getByRole("button", { name: "Send again" }).waitFor();
  await inspect(page, "components-menu", ALL_LOOKS);
  // The page requests the name of the service, and no service answers. All console messages are allowed.
  allow(/./);
});

it("a selection of text that ends outside a dialog leaves the dialog open, and a press outside closes it", async () => {
  const { page } = await visit();
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/dashboard/_components`);
  await page.getByRole("button", { name: "Open a dialog" }).click();
  const dialog = page.getByRole("dialog", { name: "Revoke the key?" });
  await dialog.getByText("Requests with it are refused").hover();
  await page.mouse.down();
  await page.mouse.move(5, 5);
  await page.mouse.up();
  await dialog.waitFor();
  await page.mouse.click(5, 5);
  await dialog.waitFor({ state: "hidden" });
  allow(/./);
});
