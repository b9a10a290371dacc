import type { SandboxActivity } from "@bikeshare/contract/console";
import type { PageScope } from "../scope.ts";

/** Whose sandbox a page shows. `params` are the path parameters of the requests about it. */
export interface SandboxProps {
  readonly scope: PageScope;
  readonly params: { readonly system_id: string; readonly partner_id: string };
}

/** The result of an action in the sandbox: a title, and the steps that were done. */
export interface Result {
  readonly title: string;
  readonly steps: readonly string[];
  /** A key that the action has made. It is shown once. */
  readonly key?: string | null;
}

/** What the forms of the sandbox's page need to change the sandbox. */
export interface SandboxControls {
  readonly params: SandboxProps["params"];
  readonly activity: SandboxActivity;
  readonly isPending: boolean;
  /**
   * Whether the simulated city is stopped, because it is being created again or has reached its limit of rides. Disables
   * scenarios and events.
   */
  readonly isStopped: boolean;
  /** Runs an action and shows its result. */
  readonly act: (work: () => Promise<Result>) => void;
}
