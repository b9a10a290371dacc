import { Resolver } from "node:dns/promises";
import { isLoopbackName, loopbackAddresses } from "./address-guard.ts";
import { describeFailure } from "./dial-failure.ts";
import type { DialFailure } from "./dial-failure.ts";

/** Where names are looked up. Without servers: those of the system. */
export interface ResolveOptions {
  readonly timeoutMs: number;
  /** `address:port` each. */
  readonly servers?: readonly string[] | undefined;
}

export type Resolution = { readonly addresses: readonly string[] } | DialFailure;

/** Twice within the 3 s, so that one lost packet does not fail an attempt. c-ares doubles it for each repeat. */
const FIRST_TRY_MS = 900;
const TRIES = 3;

/**
 * All addresses of a name, IPv4 first: where a receiver has both, IPv4 is the one that others have tried.
 *
 * DNS only, without `/etc/hosts`: the system's own lookup runs on Node's few threads, and names whose servers never
 * answer would hold up every file and every other name of the process. Never throws.
 */
export async function resolveName(name: string, { timeoutMs, servers }: ResolveOptions): Promise<Resolution> {
  if (isLoopbackName(name)) return { addresses: loopbackAddresses };
  // One for each name: it can be cancelled alone, and each asks from ports of its own.
  const resolver = new Resolver({ timeout: FIRST_TRY_MS, tries: TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    resolver.cancel();
  }, timeoutMs);
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  clearTimeout(timer);
  const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  if (addresses.length > 0) return { addresses };
  return explain(
    name,
    answers.flatMap((answer) => (answer.status === "rejected" ? [codeOf(answer.reason)] : [])),
    isLate,
  );
}

function explain(name: string, codes: readonly string[], isLate: boolean): DialFailure {
  if (isLate || codes.includes("ETIMEOUT")) {
    return describeFailure("dns_timeout", `DNS did not answer in time for ${name}.`);
  }
  if (codes.every((code) => code === "ENOTFOUND")) return describeFailure("dns", `${name} is not known to DNS.`);
  if (codes.every((code) => code === "ENODATA" || code === "ENOTFOUND")) {
    return describeFailure("dns", `${name} has no address.`);
  }
  return describeFailure("dns", `DNS could not answer for ${name} (${codes.join(", ")}).`);
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown";
}
