/* Every check as a table for docs/runbook.md. */
import { type CheckName, checkScopes } from "../../src/health/checks/check.ts";
import { checkDescriptions } from "../../src/health/checks/descriptions.ts";

export function checksText(): string {
  const rows = (Object.keys(checkScopes) as CheckName[]).map(
    (name) => `| \`${name}\` | ${checkScopes[name]} | ${checkDescriptions[name]} |`,
  );
  return ["| check | scope | finds something when |", "|---|---|---|", ...rows].join("\n");
}
