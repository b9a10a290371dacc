/*
 * What the checks of the walk use. The walk (walk.ts) runs the commands of some pages of docs/ on simulated machines, and
 * after the commands below a heading the checks of that heading.
 */
import type { SigningAuthority } from "./authorities.ts";
import type { Callers } from "./callers.ts";
import type { Machine } from "./machines.ts";
import type { Outside } from "./outside.ts";
import type { MachineName } from "./page.ts";
import type { World } from "./world.ts";

export interface Context {
  /**
   * The machine `one` of docs/operations.md. For the other pages: the nodes a and b, the administrator's machine c, and those
   * with PostgreSQL (db, db2).
   */
  readonly machines: Readonly<Record<MachineName, Machine>>;
  /** The root directory of each machine, as a path on this one. */
  readonly roots: Readonly<Record<MachineName, string>>;
  /** The network of the machines, with the registry that publishes versions of the server. */
  readonly world: World;
  /** The mail server and the partner's receiver of deliveries. */
  readonly outside: Outside;
  /** The public certificate authority that nodes get their certificates from. */
  readonly signing: SigningAuthority;
  /** The output of the latest block on each machine. */
  readonly outputs: Map<MachineName, string>;
  /** Makes callers that trust the certificates of the page. Checks get them by `callersOf` (calls.ts). */
  readonly makeCallers: (administrator: Machine) => Promise<Callers>;
  /** Values that one check stores for later ones. */
  readonly found: Map<"key" | "callers" | "version" | "writes" | "rides" | "deliveries", unknown>;
}

export type Check = (context: Context) => Promise<void>;
