import { chromium } from "playwright-core";
import type { TestProject } from "vitest/node";
import { findChromium } from "./chromium.ts";
import { startService } from "./service.ts";
import { fillService, type World } from "./world.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the browser of all tests is reached. */
    browserEndpoint: string;
    /** The service, and what it holds before any test. */
    world: World;
  }
}

/** Starts the one service and the one browser of all browser tests. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const executablePath = await findChromium();
  const [service, browser] = await Promise.all([
    startService(),
    chromium.launchServer({ executablePath, args: ["--no-sandbox", "--disable-gpu"] }),
  ]);
  project.provide("browserEndpoint", browser.wsEndpoint());
  project.provide("world", await fillService(service));
  return async () => {
    await browser.close();
    await service.stop();
  };
}
