import type { SystemDetails } from "../../systems/details.ts";
import { forms, type GbfsForm } from "./form.ts";

/** Where the feeds of a system are. The address names the system, so that it holds when there are more one day. */
function addressOf(baseUrl: string, systemId: string, version: string, feed: string): string {
  return `${baseUrl.replace(/\/+$/, "")}/gbfs/${encodeURIComponent(systemId)}/${version}/${feed}.json`;
}

/** The `data` of gbfs.json: 2.3 lists the feeds by language, 3.0 once. */
export function discovery(
  { version }: GbfsForm,
  { id, language }: SystemDetails,
  baseUrl: string,
  feeds: readonly string[],
): object {
  const listed = { feeds: feeds.map((name) => ({ name, url: addressOf(baseUrl, id, version, name) })) };
  return version === "2.3" ? { [language]: listed } : listed;
}

/** The `data` of gbfs_versions.json. */
export function versions({ id }: SystemDetails, baseUrl: string): object {
  return { versions: forms.map(({ version }) => ({ version, url: addressOf(baseUrl, id, version, "gbfs") })) };
}
