/* What the checks of the walk are given. */
import type { SigningAuthority } from "./authorities.ts";
import type { Callers } from "./callers.ts";
import type { Machine } from "./machines.ts";
import type { Outside } from "./outside.ts";
import type { MachineName } from "./page.ts";
import type { World } from "./world.ts";

export interface Context {
  readonly machines: Readonly<Record<MachineName, Machine>>;
  /** The files of each machine. */
  readonly roots: Readonly<Record<MachineName, string>>;
  readonly world: World;
  readonly outside: Outside;
  readonly signing: SigningAuthority;
  /** What the latest block printed on each machine. */
  readonly outputs: Map<MachineName, string>;
  /** Those who know the certificates of the page. */
  readonly callersOf: (administrator: Machine) => Promise<Callers>;
  /** What one check finds for later ones. */
  readonly found: Map<"key" | "callers" | "version" | "writes" | "rides" | "deliveries", unknown>;
}

export type Check = (context: Context) => Promise<void>;
