/* The machines and servers that the checks of the walk use. */
import type { SigningAuthority } from "./authorities.ts";
import type { Callers } from "./callers.ts";
import type { Machine } from "./machines.ts";
import type { Outside } from "./outside.ts";
import type { MachineName } from "./page.ts";
import type { World } from "./world.ts";

export interface Context {
  readonly machines: Readonly<Record<MachineName, Machine>>;
  /** The root directory of each machine, as a path on this one. */
  readonly roots: Readonly<Record<MachineName, string>>;
  readonly world: World;
  readonly outside: Outside;
  readonly signing: SigningAuthority;
  /** The output of the latest block on each machine. */
  readonly outputs: Map<MachineName, string>;
  /** Returns callers that trust the certificates of the page. */
  readonly callersOf: (administrator: Machine) => Promise<Callers>;
  /** Values that one check stores for later ones. */
  readonly found: Map<"key" | "callers" | "version" | "writes" | "rides" | "deliveries", unknown>;
}

export type Check = (context: Context) => Promise<void>;
