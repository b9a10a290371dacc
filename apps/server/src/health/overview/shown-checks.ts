import type { ShownCheck } from "@bikeshare/contract/console";
import type { Acknowledgement } from "../checks/acknowledgement.rules.ts";
import type { CheckResult } from "../checks/check.ts";

/** A result as an overview shows it. */
export interface OverviewResult extends CheckResult {
  /** The machine or the system that was looked at, empty for the deployment; left out: it cannot be acknowledged. */
  readonly of?: string;
  readonly acknowledgement?: Acknowledgement | undefined;
  readonly partner_id: string | null;
  readonly partner_name: string | null;
}

const severities: readonly ShownCheck["severity"][] = ["failure", "warning", "info"];

/** Shows what checks have found: first what is not acknowledged, of that the worst. */
export function shownResults(results: readonly OverviewResult[]): ShownCheck[] {
  const rank = ({ acknowledged, severity }: ShownCheck) =>
    severities.indexOf(severity) + (acknowledged === null ? 0 : severities.length);
  return results.flatMap(shown).toSorted((one, other) => rank(one) - rank(other));
}

function shown({ status, at, of, acknowledgement, ...result }: OverviewResult): ShownCheck[] {
  if (status === "ok") return [];
  const { check: name, detail, fix = "", subject = "", partner_id, partner_name } = result;
  return [
    {
      ...{ name, of: of ?? null, subject, severity: status },
      text: /[.!?]$/.test(detail) ? detail : `${detail.charAt(0).toUpperCase()}${detail.slice(1)}.`,
      fix,
      at: at?.toISOString() ?? null,
      acknowledged:
        acknowledgement === undefined
          ? null
          : { at: acknowledgement.at.toISOString(), until: acknowledgement.until?.toISOString() ?? null },
      ...{ partner_id, partner_name },
      link: result.link === undefined ? null : { page: result.link.page, query: { ...result.link.query } },
    },
  ];
}
