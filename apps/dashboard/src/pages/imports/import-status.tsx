import type { ShownImport } from "@bikeshare/contract/console";
import { Status, type Tone } from "../../components/status.tsx";

const shown: Readonly<Record<ShownImport["status"], readonly [Tone, string]>> = {
  running: ["progress", "running, or interrupted"],
  done: ["success", "done"],
  undoing: ["progress", "being undone"],
  undone: ["neutral", "undone"],
};

/** The status of an import. An import that was interrupted keeps the status of a running one. */
export function ImportStatus({ status }: Pick<ShownImport, "status">) {
  const [tone, text] = shown[status];
  return <Status tone={tone}>{text}</Status>;
}

/** Returns what an import has created: `3 rides` or `12 stations and bikes`. */
export function createdText({ kind, created }: Pick<ShownImport, "kind" | "created">): string {
  const [one, many] = kind === "trips" ? ["ride", "rides"] : ["station or bike", "stations and bikes"];
  return `${created.toLocaleString("en")} ${created === 1 ? one : many}`;
}
