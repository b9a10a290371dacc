import { resolve } from "node:path";
import {
  EXPORT_MONTH,
  exportFormatNames,
  type ExportKind,
  type ExportPrivacy,
  exportPrivacies,
  exportPrivacyNames,
} from "@bikeshare/contract";
import { issueText } from "@bikeshare/contract/pure";
import { makeExportApart } from "../feeds/exports/make-apart.ts";
import { requireBegunMonth } from "../feeds/exports/service.ts";
import { oneOf } from "../runtime/startup/values.ts";
import { readVersion } from "../version.ts";
import { type OpenCli, type ParentCommand, runOnSystem, stopSignal, type SystemContext } from "./context.ts";
import { option } from "./options.ts";
import { PROGRESS_INTERVAL_MS, type Result } from "./output.ts";

/** Registers `export rides`, `export stations` and `export station-status`. */
export function registerExports(parent: ParentCommand, cli: OpenCli): void {
  const levels = Object.entries(exportPrivacies).map(([name, text]) => `${name}: ${text}`);
  parent
    .command("rides")
    .description("write the rides of a month into a file, in Citi Bike's columns")
    .addOption(monthOption().makeOptionMandatory())
    .addOption(
      option(
        "--privacy <level>",
        `how much of rides it tells (${levels.join(" ")})`,
        oneOf(exportPrivacyNames),
      ).makeOptionMandatory(),
    )
    .addOption(formatOption())
    .addOption(outOption())
    .action(({ month, privacy, format, out }) =>
      runOnSystem(cli(), (context) => write(context, { kind: "rides", month, privacy, format, out })),
    );
  parent
    .command("stations")
    .description("write the stations into a file")
    .addOption(formatOption())
    .addOption(outOption())
    .action(({ format, out }) =>
      runOnSystem(cli(), (context) => write(context, { kind: "stations", month: null, privacy: null, format, out })),
    );
  parent
    .command("station-status")
    .description("write every change of the stations' bikes and docks in a month into a file")
    .addOption(monthOption().makeOptionMandatory())
    .addOption(formatOption())
    .addOption(outOption())
    .action(({ month, format, out }) =>
      runOnSystem(cli(), (context) => write(context, { kind: "station_status", month, privacy: null, format, out })),
    );
}

function monthOption() {
  return option("--month <month>", "the month in the system's time zone, such as 2026-10", (text) => {
    if (!EXPORT_MONTH.test(text)) throw new Error(issueText("month"));
    return text;
  });
}

function formatOption() {
  return option("--format <format>", exportFormatNames.join(" or "), oneOf(exportFormatNames)).default("csv" as const);
}

function outOption() {
  return option("--out <folder>", "where to write the file and its manifest", String).default(".");
}

/** The file that the user asks for. */
interface Wanted {
  readonly kind: ExportKind;
  /** Null: the stations as they are now, which belong to no month. */
  readonly month: string | null;
  /** Null: the file is not about rides. */
  readonly privacy: ExportPrivacy | null;
  readonly format: (typeof exportFormatNames)[number];
  /** The folder of the file, as the user gave it. */
  readonly out: string;
}

/** Writes the file in a thread of its own (`makeExportApart`), and returns what the command prints about it. */
async function write(context: SystemContext, { out, ...content }: Wanted): Promise<Result> {
  const { db, systemId, output, clock } = context;
  await requireBegunMonth({ db, clock }, systemId, content.month);
  let progressShownAt = 0;
  const manifest = await makeExportApart({
    ...content,
    systemId,
    connectionString: db.connectionString,
    directory: resolve(out),
    version: readVersion(),
    onProgress: (rows) => {
      if (clock() - progressShownAt < PROGRESS_INTERVAL_MS) return;
      progressShownAt = clock();
      output.progress(`${rows.toLocaleString("en")} rows`);
    },
    signal: stopSignal(context, "Stopped: no file was made."),
  });
  const { file_name: name, rows, bytes, sha256, left_out, merged, as_of, licence } = manifest;
  return {
    object: { files: [{ name, rows, bytes, sha256 }], left_out, merged, as_of },
    facts: {
      file: resolve(out, name),
      rows,
      bytes,
      sha256,
      // Rides that the privacy level leaves out, and rides that name regions instead of stations. Null: it does neither.
      ...(left_out !== null && { "left out": left_out }),
      ...(merged !== null && { "named by regions": merged }),
      "as of": as_of,
      licence,
    },
    notes:
      licence === null
        ? ["No licence: name one with `bikeshare systems set --licence`, or nobody may use the file."]
        : [],
  };
}
