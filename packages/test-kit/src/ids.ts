import { randomFillSync } from "node:crypto";

/** Identifiers that count up, so that a failing test reads well. Secrets are random all the same. */
export function createTestIds() {
  let made = 0;
  return {
    next: (prefix: string) => `${prefix}_${String(++made).padStart(6, "0")}`,
    randomBytes: (bytes: number) => randomFillSync(new Uint8Array(bytes)),
    random: () => 0.5,
  };
}
