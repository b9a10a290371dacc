import type { SandboxActivity } from "@bikeshare/contract/console";
import type { Scope } from "../scope.ts";

export interface SandboxProps {
  readonly scope: Scope;
  readonly params: { readonly system_id: string; readonly partner_id: string };
}

/** What somebody has just done, and its steps. */
export interface Result {
  readonly title: string;
  readonly steps: readonly string[];
  /** A key that was made, which is shown once. */
  readonly key?: string | null;
}

/** What the forms act with. */
export interface Acting {
  readonly params: SandboxProps["params"];
  readonly activity: SandboxActivity;
  readonly isPending: boolean;
  /** Nothing can happen now in the city. */
  readonly isStopped: boolean;
  /** Does something, and shows what came of it. */
  readonly act: (work: () => Promise<Result>) => void;
}
