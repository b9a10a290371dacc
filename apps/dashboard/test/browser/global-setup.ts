import type { TestProject } from "vitest/node";
import { findChromium } from "./chromium.ts";
import { startService } from "./service.ts";
import { fillService, type World } from "./world.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The path of the browser's program. */
    browserProgram: string;
    /** The shared service, with the data that it has before any test. */
    world: World;
  }
}

/** Finds the browser, and starts the service that all browser tests share. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const [browserProgram, service] = await Promise.all([findChromium(), startService()]);
  project.provide("browserProgram", browserProgram);
  project.provide("world", await fillService(service));
  return () => service.stop();
}
