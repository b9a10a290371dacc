import { systemsOf } from "../city/systems/service.ts";
import type { Concerns } from "../health/conditions/concerns.ts";
import type { Conditions } from "../health/conditions/conditions.ts";
import { checkPeriodically } from "../health/conditions/periodic-check.ts";
import type { PeriodicWork } from "../storage/background/periodic.ts";
import type { Database } from "../storage/db/database.ts";
import { countSetAside } from "./queue/backlog-queries.ts";

/** Looks whether deliveries are set aside because they ended their processes: a concern until they are sent again. */
export function watchSetAside(
  db: Database,
  { conditions, concerns }: { readonly conditions: Conditions; readonly concerns: Concerns },
): PeriodicWork {
  return checkPeriodically(conditions.of("looking for webhooks that were set aside"), async () => {
    let deliveries = 0;
    for (const { system_id: systemId } of await systemsOf(db)) deliveries += await countSetAside(db, systemId);
    const said =
      `${deliveries} webhooks are not sent any more, because each ended three processes in a row. The log names them: ` +
      "report it, and once it is mended send them by `bikeshare webhooks redeliver <id>`";
    concerns.set("set_aside", deliveries === 0 ? undefined : said);
  });
}
