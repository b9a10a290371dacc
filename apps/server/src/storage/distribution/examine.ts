import { systemsOf } from "../../city/systems/service.ts";
import type { Database } from "../db/database.ts";
import { tableSteps } from "./distribution.rules.ts";
import { sharesShard } from "./own-shard.ts";
import { type DatabaseNode, findExtension, listDistributedTables, listNodes } from "./queries.ts";
import { readTableKinds } from "./table-kinds.ts";

export type { DatabaseNode } from "./queries.ts";

/** The distribution of a database with the extension. */
export interface DistributionState {
  /** Tables that only the coordinator has. */
  readonly undistributed: readonly string[];
  /** Systems that lie in a shard with others. */
  readonly sharing: readonly string[];
  readonly nodes: readonly DatabaseNode[];
}

/** Undefined for a database without the extension. */
export async function examineDistribution(db: Database): Promise<DistributionState | undefined> {
  if (!(await findExtension(db))) return undefined;
  const { references, systems } = tableSteps(await readTableKinds(), await listDistributedTables(db));
  const sharing: string[] = [];
  for (const { system_id: systemId } of await systemsOf(db)) {
    if (await sharesShard(db, systemId)) sharing.push(systemId);
  }
  return { undistributed: [...references, ...systems], sharing, nodes: await listNodes(db) };
}
