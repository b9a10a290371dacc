import type { KeyUse } from "./service.ts";

/** Records when, for which path and from which address each key was last used, outside of the request's path. */
export interface LastUses {
  note(use: KeyUse): void;
  /** Writes the records since the last call. A failure loses only these records. */
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
