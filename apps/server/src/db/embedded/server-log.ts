import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** Enough for the last start's lines; more would only make an error message unreadable. */
const TAIL_BYTES = 4096;

/** What the PostgreSQL process `pid` itself wrote at the end of the newest log of the cluster. */
export async function readLog(data: string, pid: number | undefined): Promise<string> {
  const file = await newestLog(join(data, "log"));
  if (file === undefined || pid === undefined) return "";
  const handle = await open(file, "r");
  try {
    const { size } = await handle.stat();
    const { buffer, bytesRead } = await handle.read(
      Buffer.alloc(TAIL_BYTES),
      0,
      TAIL_BYTES,
      Math.max(0, size - TAIL_BYTES),
    );
    const lines = buffer.toString("utf8", 0, bytesRead).split("\n");
    return lines.filter((line) => line.includes(`[${pid}]`)).join("\n");
  } finally {
    await handle.close();
  }
}

async function newestLog(directory: string): Promise<string | undefined> {
  // There is none before the first start.
  const names = await readdir(directory).catch(() => []);
  const files = await Promise.all(
    names.map(async (name) => ({ file: join(directory, name), changed: (await stat(join(directory, name))).mtimeMs })),
  );
  return files.sort((a, b) => b.changed - a.changed)[0]?.file;
}
