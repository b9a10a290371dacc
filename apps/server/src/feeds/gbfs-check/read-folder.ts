import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";
import { MAX_DOCUMENT_BYTES, tooLarge } from "../gbfs/bounded-json.ts";
import type { FeedFile, FeedFiles } from "./feed-set.ts";

/** Maximum files of a folder. A feed set in ten languages has 130. */
const MAX_FILES = 200;

/** Reads the saved files of a folder and of its language folders. @throws Error when there are none */
export async function readFolder(folder: string): Promise<FeedFiles> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(".json"))
    .map(({ parentPath, name }) => join(parentPath, name));
  const depth = (path: string) => relative(folder, path).split(sep).length;
  const near = paths.filter((path) => depth(path) <= 2).toSorted();
  if (near.length === 0)
    throw new Error(`${folder} has no JSON files. Name a folder with gbfs.json and the files that it lists.`);
  const files: FeedFile[] = [];
  for (const path of near.slice(0, MAX_FILES)) {
    const name = basename(path, ".json");
    const language = depth(path) === 2 ? (relative(folder, path).split(sep)[0] ?? null) : null;
    const common = { name, language, address: relative(folder, path) };
    const isTooLarge = (await stat(path)).size > MAX_DOCUMENT_BYTES;
    files.push(isTooLarge ? { ...common, failure: tooLarge().message } : { ...common, bytes: await readFile(path) });
  }
  return { kind: "folder", location: folder, files };
}
