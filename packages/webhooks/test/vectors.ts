import { readFileSync } from "node:fs";
import type { VerificationFailure } from "../src/index.ts";

/** A request, what its receiver knows, and the receiver's clock in unix seconds. */
export interface Vector {
  readonly name: string;
  readonly secrets: readonly string[];
  readonly header: string;
  readonly body: string;
  readonly now: number;
}

/** The vectors as they are published. */
export interface Vectors {
  readonly tolerance: number;
  readonly valid: readonly Vector[];
  readonly invalid: readonly (Vector & { readonly reason: VerificationFailure })[];
}

export const vectors = JSON.parse(readFileSync(new URL("../vectors.json", import.meta.url), "utf8")) as Vectors;
