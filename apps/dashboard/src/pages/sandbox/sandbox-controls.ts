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

/** What the forms of the sandbox's page need to change the sandbox. */
export interface SandboxControls {
  readonly params: SandboxProps["params"];
  readonly activity: SandboxActivity;
  readonly isPending: boolean;
  /** Nothing can happen in the city now, because it is being made anew or is full. Disables the forms. */
  readonly isStopped: boolean;
  /** Runs an action and shows its result. */
  readonly act: (work: () => Promise<Result>) => void;
}
