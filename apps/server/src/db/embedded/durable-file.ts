import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Replaces a file at once and for good: after a power cut there is the old content or the new one. */
export async function writeDurably(file: string, content: string, mode: number): Promise<void> {
  const temporary = `${file}.partial`
  // A left-over of a killed process; callers hold the lock of the data directory, so nobody is writing it.
  await rm(temporary, { force: true })
  const handle = await open(temporary, 'wx', mode)
  try {
    await handle.writeFile(content)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await renameDurably(temporary, file)
}

/** Renames, and returns once the new name survives a power cut. */
export async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to)
  // Windows cannot open a directory; NTFS journals names by itself.
  if (process.platform === 'win32') return
  const directory = await open(dirname(to), 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
