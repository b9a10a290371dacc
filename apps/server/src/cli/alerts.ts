import { alertTypes, alertUpsert, type OperatorAlert } from "@bikeshare/contract";
import { Option } from "@commander-js/extra-typings";
import { endAlert, getAlert, listAllAlerts, openAlert } from "../city/alerts/service.ts";
import { describeIssues } from "../issues.ts";
import { oneOf } from "../runtime/startup/values.ts";
import { type OpenCli, type ParentCommand, runOnSystem, type SystemContext } from "./context.ts";
import { limitOption, listOf, option, readGivenId, textInLanguages, UsageError } from "./options.ts";
import { type Columns, table } from "./output.ts";

// The commands `alerts`, which tell riders of closures and disturbances.

/** Maximum rows of the list. Too high: the rows fill memory. */
const MAX_LIMIT = 10_000;

const columns: Columns<OperatorAlert> = {
  id: "id",
  type: "type",
  summary: ({ summary }) => summary[0]?.text,
  stations: "station_ids",
  regions: "region_ids",
  source: "source",
  opened: "opened_at",
  ended: "ended_at",
};

/** Registers `alerts open`, `end` and `list`. */
export function registerAlerts(program: ParentCommand, cli: OpenCli): void {
  const alerts = program.command("alerts").description("tell riders of closures, moves and disturbances");
  addOpen(alerts, cli);
  addEnd(alerts, cli);
  addList(alerts, cli);
}

function addOpen(alerts: ParentCommand, cli: OpenCli): void {
  const text = <Name extends string>(name: Name, description: string) =>
    new Option(`${name} <text>`, `${description}; repeat it as nb=…, en=… for several languages`).argParser<string[]>(
      collected,
    );
  alerts
    .command("open")
    .description("open an alert, or change an open one: what is left out stays as it was")
    .argument("<id>", "your own id of the alert")
    .addOption(option("--type <type>", `what it is about: ${alertTypes.join(", ")}`, oneOf(alertTypes)))
    .addOption(text("--summary", "one line for riders"))
    .addOption(text("--description", "more of it"))
    .addOption(text("--url", "the address of a page with more of it"))
    .option("--start <instant>", "when it begins, such as 2027-01-31T08:00:00Z")
    .option("--end <instant>", "when it ends by itself; without it `alerts end` ends it")
    .addOption(option("--stations <ids>", "the stations that it is about, comma-separated", listOf(String)))
    .addOption(option("--regions <ids>", "the regions that it is about, comma-separated", listOf(String)))
    .action((given, { summary, description, url, start, end, stations, regions, type }) => {
      const id = readGivenId(given);
      const fields = {
        id,
        type,
        summary: summary && textInLanguages("--summary", summary),
        description: description && textInLanguages("--description", description),
        url: url && textInLanguages("--url", url),
        station_ids: stations,
        region_ids: regions,
      };
      return runOnSystem(cli(), async (context) => {
        const item = readAlert({ ...fields, times: await timesOf(context, id, { start, end }) });
        return { object: await openAlert(context, context.systemId, item) };
      });
    });
}

/**
 * Returns the period of an alert. A start or end that the command leaves out is that of the open alert. Undefined: the
 * command gives neither, and the periods stay as they are.
 */
async function timesOf(
  { db, systemId, clock }: SystemContext,
  id: string,
  given: { readonly start: string | undefined; readonly end: string | undefined },
): Promise<[Record<"start" | "end", string | undefined>] | undefined> {
  if (given.start === undefined && given.end === undefined) return undefined;
  const alert = await getAlert(db, systemId, id, new Date(clock()));
  // An alert that has ended is opened anew, without its former times.
  const [time, ...others] = alert?.ended_at === null ? alert.times : [];
  const isWhole = given.start !== undefined && given.end !== undefined;
  if (others.length > 0 && !isWhole)
    throw new UsageError(
      `The alert ${id} has ${others.length + 1} times. Give both --start and --end, which replace them.`,
    );
  return [{ start: given.start ?? time?.start ?? undefined, end: given.end ?? time?.end ?? undefined }];
}

function addEnd(alerts: ParentCommand, cli: OpenCli): void {
  alerts
    .command("end")
    .description("end an alert: riders see it no more")
    .argument("<id>", "the alert's id")
    .action((id) =>
      runOnSystem(cli(), async (context) => ({ object: await endAlert(context, context.systemId, readGivenId(id)) })),
    );
}

function addList(alerts: ParentCommand, cli: OpenCli): void {
  alerts
    .command("list")
    .description("list the open alerts by id, those of feeds too")
    .option("--all", "also those that ended in the last 90 days")
    .addOption(limitOption(MAX_LIMIT, 50))
    .action(({ all, limit }) =>
      runOnSystem(cli(), async ({ db, systemId, clock }) => {
        const status = all === true ? "all" : "open";
        const { alerts: listed, total } = await listAllAlerts(db, systemId, { status, limit, now: new Date(clock()) });
        const notes = total > listed.length ? [`${listed.length} of ${total}. --limit shows more rows.`] : [];
        return { object: { alerts: listed, total }, table: table(listed, columns, "No alerts."), notes };
      }),
    );
}

/** Collects the values of an option that may be repeated. */
function collected(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value];
}

function readAlert(fields: Readonly<Record<string, unknown>>) {
  // JSON leaves out undefined fields, as in a request: what is left out stays as it was.
  const { success, data, error } = alertUpsert.safeParse(JSON.parse(JSON.stringify(fields)));
  if (!success) throw new UsageError(`${describeIssues(error.issues, "item")}.`);
  return data;
}
