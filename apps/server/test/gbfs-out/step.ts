import type { GbfsOutHarness } from "./gbfs-out.harness.ts";

/** The system that steps are taken in. */
export interface StepSubject {
  harness: GbfsOutHarness;
  systemId: string;
}

/** One thing that is done to a system; `does` shows it when a test fails. */
export type Step = { readonly does: string; run(): Promise<unknown> };
