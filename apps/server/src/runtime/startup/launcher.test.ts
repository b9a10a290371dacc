import { execFile, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished, vi } from "vitest";
import { ancestorsOf, createHangStop, createSignals, isBroken, type Processes } from "./signals.ts";

/** Processes by their ids: the parent of each, whether a package manager launched it, and whether it leads a session. */
type Table = Record<number, { parent: number; launched?: boolean; leads?: boolean }>;

const processesOf = (table: Table): Processes => ({
  parentOf: (pid) => table[pid]?.parent,
  isLaunched: (pid) => table[pid]?.launched === true,
  leadsSession: (pid) => table[pid]?.leads === true,
});

/** A terminal's shell (10), npx (20), pnpm (30), sh (40), the service (50). */
const launched = (): Table => ({
  10: { parent: 1, leads: true },
  20: { parent: 10 },
  30: { parent: 20, launched: true },
  40: { parent: 30, launched: true },
  50: { parent: 40, launched: true },
});

it.each([20, 30, 40])("the end of process %i between npx and the service is noticed", (gone) => {
  const table = launched();
  const chain = ancestorsOf(processesOf(table), 50);
  expect(isBroken(processesOf(table), chain)).toBe(false);
  delete table[gone];
  for (const process of Object.values(table)) if (process.parent === gone) process.parent = 1;
  expect(isBroken(processesOf(table), chain)).toBe(true);
});

it("the end of the shell that called npx is nobody's wish: npx may be meant to live on", () => {
  const table = launched();
  const chain = ancestorsOf(processesOf(table), 50);
  delete table[10];
  Object.assign(table, { 20: { parent: 1 } });
  expect(isBroken(processesOf(table), chain)).toBe(false);
});

it("a service started as node itself, or in a session of its own, has nothing to lose", () => {
  expect(ancestorsOf(processesOf({ 10: { parent: 1 }, 50: { parent: 10 } }), 50)).toEqual([]);
  expect(ancestorsOf(processesOf({ ...launched(), 50: { parent: 40, launched: true, leads: true } }), 50)).toEqual([]);
  // A process manager (30) whose package manager has already ended.
  const daemon: Table = { 30: { parent: 1, launched: true }, 50: { parent: 30, launched: true } };
  expect(isBroken(processesOf(daemon), ancestorsOf(processesOf(daemon), 50))).toBe(false);
});

it.each([["SIGTERM"], ["SIGINT"], ["SIGHUP"], ["launcher"]])(
  "%s stops gracefully, a SIGHUP or an immediate repetition changes nothing, and a later SIGTERM stops at once",
  async (first) => {
    const exits: number[] = [];
    const source = Object.assign(new EventEmitter(), { exit: (status: number) => void exits.push(status) });
    let gone = () => undefined as void;
    let now = 1000;
    let isWatched = false;
    const watchLauncher = (onGone: () => void) => {
      gone = onGone;
      isWatched = true;
      return () => (isWatched = false);
    };
    const signals = createSignals({ source, watchLauncher, monotonic: () => now });
    const stopped = signals.untilStopped();
    expect(isWatched).toBe(true);
    if (first === "launcher") gone();
    else source.emit(first);
    await stopped;
    expect(isWatched).toBe(false);
    source.emit("SIGHUP");
    // The process that launched this one forwards the signal a second time.
    now += 499;
    source.emit("SIGINT");
    expect(exits).toEqual([]);
    now += 1;
    source.emit("SIGTERM");
    expect(exits).toEqual([1]);
  },
);

it("a process of which a part hangs stops in order, and is killed where that part keeps it from stopping", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const kill = vi.fn<() => void>();
  const { untilHung, onHang } = createHangStop(kill);
  onHang();
  await untilHung;
  vi.advanceTimersByTime(29_000);
  expect(kill).not.toHaveBeenCalled();
  vi.advanceTimersByTime(2_000);
  expect(kill).toHaveBeenCalledOnce();
});

it("a process that hangs in reading a file is killed, too", async () => {
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-hang-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  // Opening a pipe without a writer never returns.
  const pipe = join(directory, "pipe");
  await promisify(execFile)("mkfifo", [pipe]);
  const program = `
    import { readFile } from "node:fs";
    import { createHangStop, killThisProcess } from ${JSON.stringify(new URL("./signals.ts", import.meta.url).href)};
    readFile(${JSON.stringify(pipe)}, () => undefined);
    createHangStop(killThisProcess, 1).onHang();`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGKILL"));
  expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
});
