import { CommanderError } from "@commander-js/extra-typings";
import { type CommandOptions, createCommand } from "./command-line.ts";
import { measure } from "./measure.ts";
import { type Profile, profileOf, profiles } from "./profiles.ts";
import { writeReports } from "./report/files.ts";
import { progressLine, summaryText } from "./report/text.ts";
import type { RunResult } from "./result.ts";
import { openGivenService, openOwnService, type ServiceUnderLoad } from "./service-under-load.ts";
import { requireTarget, UnconfirmedTargetError } from "./target.rules.ts";
import { parseThreshold } from "./thresholds.ts";

/** Exit statuses. */
const FAILED = 1;
const WRONG_USAGE = 2;

/** Where the program writes and what stops it. */
export interface ProgramContext {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean };
  /** Aborted: the run ends early, and so does the service that was started for it. */
  readonly signal: AbortSignal;
}

/** Runs the command line. @returns the exit status: 0 passed, 1 failed, 2 wrong usage */
export async function runProgram(args: readonly string[], context: ProgramContext): Promise<number> {
  const { stdout, stderr } = context;
  const command = createCommand().configureOutput({
    writeOut: (text) => stdout.write(text),
    writeErr: (text) => stderr.write(text),
  });
  try {
    const options = command.parse(args, { from: "user" }).opts();
    const result = await run(options, context);
    const files = await writeReports(result, options.out, options.baseline);
    stdout.write(options.json === true ? `${JSON.stringify(result)}\n` : `${summaryText(result)}\n`);
    stderr.write(`Reports: ${files.join(", ")}\n`);
    return result.passed ? 0 : FAILED;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
    stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return error instanceof UsageError || error instanceof UnconfirmedTargetError ? WRONG_USAGE : FAILED;
  }
}

/** Options that do not go together. */
class UsageError extends Error {
  override readonly name = "UsageError";
}

async function run(options: CommandOptions, context: ProgramContext): Promise<RunResult> {
  const profile = readProfile(options);
  const { seed, workers, connections, checkEvery, closed, warmUp } = options;
  const thresholds =
    options.threshold.length > 0 ? options.threshold : profile.thresholds.map((text) => parseThreshold(text));
  const settings = {
    mode: closed === true ? ("closed" as const) : ("open" as const),
    warmUpMs: Math.min(warmUp, profile.durationMs / 2),
    ...{ seed, workers, connections, checkEvery, thresholds },
  };
  const service = await open(options, profile, context);
  try {
    context.signal.throwIfAborted();
    const progress = createProgress(context.stderr);
    const seconds = Math.ceil(profile.durationMs / 1000);
    const result = await measure({
      service,
      profile,
      settings,
      signal: context.signal,
      onSecond: (second) => progress(progressLine(second, seconds)),
    });
    progress(undefined);
    return result;
  } finally {
    await service.close();
  }
}

const DEFAULT_RATE = 50;
const DEFAULT_DURATION_MS = 30_000;

function readProfile({ profile, scenario = ["cursor-walk"], rate, duration, arrivals }: CommandOptions): Profile {
  const preset = profile === undefined ? undefined : profiles[profile];
  if (preset === undefined) {
    return profileOf(scenario, { ratePerSecond: rate ?? DEFAULT_RATE, arrivals }, duration ?? DEFAULT_DURATION_MS);
  }
  if (rate !== undefined) throw new UsageError("--rate is for --scenario: a profile has rates of its own.");
  return { ...preset, durationMs: duration ?? preset.durationMs };
}

function open(options: CommandOptions, profile: Profile, { stderr }: ProgramContext): Promise<ServiceUnderLoad> {
  const { url, keys: keysFile, yes = false, metricsUrl, seed, workers } = options;
  if (url === undefined) {
    return openOwnService({ profile, seed, workers, onProgress: (text) => stderr.write(`${text} …\n`) });
  }
  if (keysFile === undefined) throw new UsageError("--url needs --keys, a file with the service's keys.");
  if (options.profile !== undefined) throw new UsageError("A profile is for a service of its own: leave out --url.");
  return openGivenService({ profile, url: requireTarget(url, yes), keysFile, metricsUrl });
}

/** Shows a line that changes, on a terminal; nothing elsewhere. */
function createProgress(stderr: ProgramContext["stderr"]): (line: string | undefined) => void {
  if (stderr.isTTY !== true) return () => undefined;
  return (line) => stderr.write(`\r\u001b[2K${line ?? ""}`);
}
