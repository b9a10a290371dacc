import type { GbfsOutHarness } from "./gbfs-out.harness.ts";

/** The system that steps change. */
export interface StepSubject {
  harness: GbfsOutHarness;
  systemId: string;
}

/** One change of a system. `does` describes it in the output of a failed test. */
export type Step = { readonly does: string; run(): Promise<unknown> };
