import type { KeyUse } from "./service.ts";

/** Remembers when, for what and from where each key was last used, off the request's path. */
export interface LastUses {
  note(use: KeyUse): void;
  /** Writes what was noted since the last time. A failure loses these notes, nothing else. */
  flush(): Promise<void>;
}

export function createLastUses(write: (uses: readonly KeyUse[]) => Promise<void>): LastUses {
  let noted = new Map<string, KeyUse>();
  return {
    note: (use) => void noted.set(`${use.systemId}\n${use.id}`, use),
    async flush() {
      if (noted.size === 0) return;
      const uses = [...noted.values()];
      noted = new Map();
      await write(uses);
    },
  };
}
