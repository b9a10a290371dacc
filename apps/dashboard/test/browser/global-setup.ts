import { chromium } from "playwright-core";
import type { TestProject } from "vitest/node";
import { findChromium } from "./chromium.ts";
import { startService } from "./service.ts";
import { fillService, type World } from "./world.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The address at which tests connect to the shared browser. */
    browserEndpoint: string;
    /** The shared service, with the data that it has before any test. */
    world: World;
  }
}

/** Starts the service and the browser that all browser tests share. */
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
