import type { Queryable } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { type Statement, statement } from "../../storage/db/statement.ts";
import { generatedColumns } from "../../storage/db/tables.generated.ts";
import { eventInvariants, webhookInvariants } from "./event-invariants.ts";
import { fleetInvariants, type InvariantText } from "./fleet-invariants.ts";

/** Something that is true of a system's rows between any two transactions. */
export interface Invariant {
  readonly name: string;
  /** What must be true. */
  readonly meaning: string;
  readonly severity: "error" | "warning";
  readonly statement: Statement;
}

/** How many rows an invariant does not hold for, and some of them. */
export interface Breach {
  readonly broken: number;
  readonly examples: readonly string[];
}

/** Examples that one breach shows. */
const MAX_EXAMPLES = 5;

const jsonInvariants = (["station", "bike", "ride"] as const).map((noun): InvariantText => [
  `${noun}_json`,
  `a ${noun}'s JSON says what its row says`,
  `select id from ${noun}s where system_id = $1 and json is distinct from ${generatedColumns[`${noun}s`].json}`,
]);

/** Everything that is checked. */
export function listInvariants(): readonly Invariant[] {
  return [...fleetInvariants, ...jsonInvariants, ...eventInvariants, ...webhookInvariants].map(
    ([name, meaning, query, severity = "error"]): Invariant => ({
      name,
      meaning,
      severity,
      statement: statement(
        `check.${name}`,
        `with broken (example) as materialized (${query})
         select count(*) as broken, array(select example from broken order by example limit ${MAX_EXAMPLES}) as examples
         from broken`,
      ),
    }),
  );
}

/** Counts what an invariant does not hold for, in one snapshot of the data. */
export async function findBreach(db: Queryable, systemId: string, { statement: broken }: Invariant): Promise<Breach> {
  return oneRow(await db.query<Breach>(broken, [systemId]));
}
