import { readdir, readFile } from "node:fs/promises";

/* Reads the resource usage of local processes from proc(5). On systems other than Linux it is NaN. */

/** Microseconds of a tick, the unit of processor time in proc(5): Linux reports 100 ticks a second. */
const TICK_US = 10_000;

/** The processor time of a process so far. */
export interface ProcessorTime {
  /** Microseconds of the process, in user and system mode. */
  readonly own: number;
  /** Microseconds of its children that have ended. */
  readonly ended: number;
  /** The parent's process id. */
  readonly parent: number;
}

/** Returns the processor time of a process. Its figures are NaN when there is no such process. */
export async function processorTimeOf(pid: number): Promise<ProcessorTime> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The text after the process's name, which may contain blanks, begins with field 3. By proc(5), field 4 is the parent
  // and fields 14 to 17 are ticks of processor time.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const field = (number: number) => Number(fields[number - 3]);
  return { parent: field(4), own: (field(14) + field(15)) * TICK_US, ended: (field(16) + field(17)) * TICK_US };
}

/** Returns the microseconds of processor time that a process has used. */
export async function cpuMicroseconds(pid: number): Promise<number> {
  return (await processorTimeOf(pid)).own;
}

/** Returns the microseconds that a process and its children have used, including children that have ended. */
export async function cpuWithChildren(pid: number): Promise<number> {
  const { own, ended } = await processorTimeOf(pid);
  const children = await Promise.all((await childrenOf(pid)).map(cpuMicroseconds));
  // A child that ends between the readings does not count. The next call corrects this.
  return children.reduce((sum, each) => sum + (Number.isNaN(each) ? 0 : each), own + ended);
}

/** Returns the process ids of a process's children; empty when there is no such process. */
export async function childrenOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, "utf8").catch(() => "")),
  );
  return lists.join(" ").split(/\s+/).filter(Boolean).map(Number);
}

/** Returns all descendants of a process. */
export async function descendantsOf(pid: number): Promise<number[]> {
  const children = await childrenOf(pid);
  return [...children, ...(await Promise.all(children.map(descendantsOf))).flat()];
}

/** The kinds of memory: resident, peak resident, private, and proportional (shared pages in equal parts). */
export type MemoryKind = "VmRSS" | "VmHWM" | "RssAnon" | "Pss";

/** Returns the memory of a process in MiB; NaN when there is no such process. */
export async function memoryMiB(pid: number, kind: MemoryKind = "VmRSS"): Promise<number> {
  const text = await readFile(`/proc/${pid}/${kind === "Pss" ? "smaps_rollup" : "status"}`, "utf8").catch(() => "");
  return Number(new RegExp(`^${kind}:\\s+(\\d+) kB`, "m").exec(text)?.[1]) / 1024;
}
