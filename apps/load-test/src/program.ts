import { randomUUID } from "node:crypto";
import type { RunResult } from "@bikeshare/load";
import { CommanderError } from "@commander-js/extra-typings";
import { type CommandOptions, createCommand, MAX_RATE_PER_SECOND } from "./command-line.ts";
import { findKnee } from "./find-knee.ts";
import { measure, type MeasureOptions, type MeasureSettings } from "./measure.ts";
import { type Profile, profileOf, profileOfReplay, profiles } from "./profiles.ts";
import { planReplay, readBusiestDay } from "./replay/recorded-day.ts";
import { readBaseline, writeReports } from "./report/files.ts";
import { progressLine, stepText, summaryText } from "./report/text.ts";
import { openGivenService, openOwnService, type ServiceUnderLoad } from "./service-under-load.ts";
import { requireTarget, TargetError } from "./target.rules.ts";
import { parseThreshold } from "./thresholds.ts";

/** Exit statuses of the command. */
const FAILED = 1;
const WRONG_USAGE = 2;

/** Where the program writes and what stops it. */
export interface ProgramContext {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean };
  /** Aborting ends the run early, together with the service that was started for it. */
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
    // Read before the run, so that an invalid file is reported at once.
    const baseline = options.baseline === undefined ? undefined : await readBaseline(options.baseline);
    const result = await run(options, context);
    const files = await writeReports(result, options.out, baseline);
    stdout.write(options.json === true ? `${JSON.stringify(result)}\n` : `${summaryText(result)}\n`);
    stderr.write(`Reports: ${files.join(", ")}\n`);
    return result.passed ? 0 : FAILED;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
    stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return error instanceof UsageError || error instanceof TargetError ? WRONG_USAGE : FAILED;
  }
}

/** Thrown for options that do not fit together, and for a missing one. */
class UsageError extends Error {
  override readonly name = "UsageError";
}

async function run(options: CommandOptions, context: ProgramContext): Promise<RunResult> {
  const profile = await readProfile(options);
  const { seed, workers, connections, checkEvery, closed, threshold } = options;
  const settings: MeasureSettings = {
    mode: closed === true ? "closed" : "open",
    // At least half of the run is measured, however short it is.
    warmUpMs: Math.min(options.warmUp ?? profile.warmUpMs, profile.durationMs / 2),
    thresholds: threshold ?? profile.thresholds.map(parseThreshold),
    seed,
    workers,
    connections,
    checkEvery,
  };
  const service = await open(options, profile, context);
  try {
    context.signal.throwIfAborted();
    const measureOnce = (loaded: Profile) => measureWithProgress({ service, profile: loaded, settings }, context);
    if (options.findKnee !== true) return await measureOnce(profile);
    // The knee is the highest rate at which the service still meets the thresholds.
    return await findKnee({
      startRate: options.rate ?? DEFAULT_RATE,
      maxRate: MAX_RATE_PER_SECOND,
      measureAt: (ratePerSecond) =>
        measureOnce({ ...profile, streams: profile.streams.map((stream) => ({ ...stream, ratePerSecond })) }),
      onStep: (step) => context.stderr.write(`${stepText(step)}\n`),
    });
  } finally {
    await service.close();
  }
}

/** Runs a profile, and shows its progress on a terminal in one line that changes each second. */
async function measureWithProgress(options: MeasureOptions, { stderr, signal }: ProgramContext): Promise<RunResult> {
  const show = (line: string) => {
    if (stderr.isTTY === true) stderr.write(`\r\u001b[2K${line}`);
  };
  const seconds = Math.ceil(options.profile.durationMs / 1000);
  const result = await measure({ ...options, signal, onSecond: (second) => show(progressLine(second, seconds)) });
  show("");
  return result;
}

const DEFAULT_RATE = 50;
const DEFAULT_DURATION_MS = 30_000;

/** Returns the profile that the options name or describe. */
async function readProfile(options: CommandOptions): Promise<Profile> {
  const { profile: name, scenario = ["cursor-walk"], rate = DEFAULT_RATE, duration, arrivals } = options;
  const preset = profiles[name ?? ""];
  if (preset !== undefined) return { ...preset, durationMs: duration ?? preset.durationMs };
  const durationMs = duration ?? DEFAULT_DURATION_MS;
  if (options.replay === undefined) return profileOf(scenario, { ratePerSecond: rate, arrivals }, durationMs);
  const rides = await readBusiestDay(options.replay);
  return profileOfReplay(planReplay(rides, options.speed, `replay-${randomUUID().slice(0, 8)}-`), durationMs);
}

/** Starts a service for the run or, with `--url`, prepares the user's. */
function open(options: CommandOptions, profile: Profile, { stderr }: ProgramContext): Promise<ServiceUnderLoad> {
  const { url, keys: keysFile, yes = false, metricsUrl, seed, workers } = options;
  if (url === undefined) {
    return openOwnService({ profile, seed, workers, onProgress: (text) => stderr.write(`${text} …\n`) });
  }
  if (keysFile === undefined) throw new UsageError("--url needs --keys, a file with the service's keys.");
  if (options.profile !== undefined) throw new UsageError("A profile is for a service of its own: leave out --url.");
  return openGivenService({ profile, url: requireTarget(url, yes), keysFile, metricsUrl });
}
