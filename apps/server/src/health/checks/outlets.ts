import { type CheckName, checkScopes, isCheckName, type Outlet, outletsOf } from "./check.ts";
import type { CurrentResult } from "./runner.ts";

/** Whether an outlet shows a check. */
function isShownIn(outlet: Outlet, check: CheckName): boolean {
  return outletsOf[checkScopes[check]].includes(outlet);
}

/**
 * What `/readyz` lists beside a 200: what an operator should look at although requests are answered. Taking this process out
 * of service would help nobody.
 */
export function concernsOf(results: readonly CurrentResult[]): string[] {
  return results
    .filter(({ check, isAcknowledged }) => isShownIn("readyz", check) && !isAcknowledged)
    .map(({ check, detail, fix }) => `${check}: ${detail}${fix === undefined ? "" : `. ${fix}`}`);
}

/** How many results of a check there are, of a severity that needs somebody, or that somebody knows of. */
export interface CheckCount {
  readonly name: CheckName;
  readonly scope: string;
  readonly severity: "warning" | "failure" | "acknowledged";
  readonly n: number;
}

/** Counts the results of every check: what is well is 0, so that rules and panels see each check. */
export function countResults(results: readonly CurrentResult[]): CheckCount[] {
  const severities = ["warning", "failure", "acknowledged"] as const;
  return (Object.keys(checkScopes) as CheckName[])
    .filter((name) => isShownIn("metric", name))
    .flatMap((name) =>
      severities.map((severity) => ({
        ...{ name, scope: checkScopes[name], severity },
        n: results.filter(
          ({ check, status, isAcknowledged }) =>
            check === name && (isAcknowledged ? "acknowledged" : status) === severity,
        ).length,
      })),
    );
}

/**
 * Returns the page of the dashboard on which an operator acknowledges a check. It changes nothing by itself: whoever opens it
 * signs in, sees what was found, and presses a button.
 */
export function acknowledgingPage(
  publicUrl: string | undefined,
  { name, of }: { readonly name: string; readonly of: string },
): string | undefined {
  if (publicUrl === undefined) return undefined;
  const isOfSystem = isCheckName(name) && checkScopes[name] === "system";
  const query = new URLSearchParams({ ...(isOfSystem && { system: of }), check: name, of });
  return `${publicUrl.replace(/\/$/, "")}/dashboard/operator/overview?${query.toString()}`;
}
