/** What planners lose of a system's published feeds. */
import { counted } from "../../feeds/gbfs-check/consumers/consumer.ts";
import { UNNAMED_SYSTEM } from "../../feeds/gbfs-check/rules/condition-rules.ts";
import { publishedId } from "../../feeds/gbfs-out/documents.ts";
import { publishedFacts } from "../../feeds/gbfs-out/service.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { type CheckLink, type CheckResult, ok, warning } from "./check.ts";

const LINK: CheckLink = { page: "feed-quality", query: {} };

/**
 * Goes by counts: to read the feeds whole for each run of the checks would cost too much. `gbfs check own` and the page
 * "Feed quality" do so.
 */
export async function checkPlanners(
  { db }: { readonly db: Queryable },
  systemId: string,
): Promise<readonly CheckResult[]> {
  const name = "planners";
  const facts = await publishedFacts(db, systemId);
  if (facts === undefined || facts.stations + facts.vehicles === 0) return [ok(name, "there is nothing to show yet")];
  const { stations, vehicles } = facts;
  const found: CheckResult[] = [];
  if (facts.plans === 0) {
    const things = stations > 0 ? counted(stations, "station") : counted(vehicles, "vehicle");
    const detail = `lamassu shows 0 of ${things} of ${systemId}: no pricing plans`;
    const fix = "`bikeshare pricing-plans set` publishes a plan; the page Feed quality shows what else is lost.";
    found.push(warning(name, detail, fix, { subject: "pricing plans", link: LINK }));
  }
  if (publishedId(facts.system) === UNNAMED_SYSTEM) {
    const detail = `the feeds call the system \`${UNNAMED_SYSTEM}\`, as others do: planners store stations by this id`;
    const option = systemId === UNNAMED_SYSTEM ? "" : ` --system ${systemId}`;
    const fix = `\`bikeshare${option} systems set --published-id <id>\` gives it one that nobody else has.`;
    found.push(warning(name, detail, fix, { subject: "system id", link: LINK }));
  }
  return found.length === 0 ? [ok(name, "the planners that are known show everything")] : found;
}
