import { scopeNames } from "@bikeshare/contract";
import { UNLIMITED_RATE } from "../profiles.ts";
import type { CommandLine } from "./own-server.ts";

const EVENTS = ["ride.started", "ride.completed"] as const;

/** A partner with a key for all scopes. */
export interface PartnerKey {
  readonly partnerId: string;
  readonly key: string;
}

/** Issues a key for the operator interface. */
export async function issueOperatorKey(commandLine: CommandLine): Promise<string> {
  const [issued] = await runAll<{ key: string }>(commandLine, [
    ["keys", "issue", "--operator", "--rate-limit", String(UNLIMITED_RATE)],
  ]);
  return issued?.key ?? "";
}

/** Creates partners with one key each. @param rateLimit requests a minute */
export async function issuePartnerKeys(
  commandLine: CommandLine,
  name: string,
  count: number,
  rateLimit: number,
): Promise<PartnerKey[]> {
  if (count === 0) return [];
  const names = Array.from({ length: count }, (_, index) => `${name} ${index + 1}`);
  const partners = await runAll<{ id: string }>(
    commandLine,
    names.map((each) => ["partners", "create", each]),
  );
  const options = ["--scopes", scopeNames.join(","), "--rate-limit", String(rateLimit)];
  const keys = await runAll<{ key: string }>(
    commandLine,
    partners.map(({ id }) => ["keys", "issue", "--partner", id, ...options]),
  );
  return partners.map(({ id }, index) => ({ partnerId: id, key: keys[index]?.key ?? "" }));
}

/** Registers a webhook endpoint for each partner, with the events `EVENTS`. @returns the signing secrets */
export async function subscribe(
  commandLine: CommandLine,
  endpoints: readonly { readonly partnerId: string; readonly url: string }[],
): Promise<string[]> {
  const made = await runAll<{ secret: string }>(
    commandLine,
    endpoints.map(({ partnerId, url }) => [
      "webhooks",
      "set",
      "--partner",
      partnerId,
      "--url",
      url,
      "--events",
      EVENTS.join(","),
    ]),
  );
  return made.map(({ secret }) => secret);
}

/** Runs commands. @returns the result of each */
async function runAll<Result>(
  commandLine: CommandLine,
  commands: readonly (readonly string[])[],
): Promise<readonly Result[]> {
  return (await commandLine.run(commands)) as readonly Result[];
}
