import { lookup, Resolver } from "node:dns/promises";
import { setTimeout as wait } from "node:timers/promises";
import { isLoopbackName, loopbackAddresses } from "./address-guard.ts";
import { type ConnectFailure, describeFailure } from "./connect-failure.ts";

/** The name servers. Without servers: those of the system. */
export interface ResolveOptions {
  readonly timeoutMs: number;
  /** `address:port` each. */
  readonly servers?: readonly string[] | undefined;
}

export type Resolution = { readonly addresses: readonly string[] } | ConnectFailure;

/** Twice within the 3 s, so that one lost packet does not fail an attempt. c-ares doubles it for each repeat. */
const FIRST_TRY_TIMEOUT_MS = 900;
const MAX_TRIES = 3;

/**
 * All addresses of a name, IPv4 first: where a receiver has both, IPv4 is the one that others have tried.
 *
 * DNS only, without `/etc/hosts`: the system's own lookup runs on Node's few threads, and names whose servers never
 * answer would hold up every file and every other name of the process. Never throws.
 */
export async function resolveName(name: string, { timeoutMs, servers }: ResolveOptions): Promise<Resolution> {
  if (isLoopbackName(name)) return { addresses: loopbackAddresses };
  // A resolver per name: it can be cancelled separately, and uses separate ports.
  const resolver = new Resolver({ timeout: FIRST_TRY_TIMEOUT_MS, tries: MAX_TRIES });
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

/**
 * All addresses of a name as every program of this machine sees them, `/etc/hosts` included: for names that the operator
 * has configured. Never throws.
 */
export async function lookUpLikeSystem(name: string, timeoutMs: number): Promise<Resolution> {
  const late = new AbortController();
  const found = lookup(name, { all: true, order: "ipv4first" }).then(
    (answers): Resolution => ({ addresses: answers.map(({ address }) => address) }),
    (error: unknown) => explain(name, [codeOf(error)], false),
  );
  const over = wait(timeoutMs, undefined, { signal: late.signal, ref: false }).then(
    () => explain(name, [], true),
    () => found,
  );
  const answer = await Promise.race([found, over]);
  late.abort();
  return answer;
}

function explain(name: string, codes: readonly string[], isLate: boolean): ConnectFailure {
  if (isLate || codes.includes("ETIMEOUT")) {
    return describeFailure("dns_timeout", `DNS did not answer in time for ${name}.`);
  }
  if (codes.every((code) => code === "ENOTFOUND")) return describeFailure("dns", `${name} does not exist in DNS.`);
  if (codes.every((code) => code === "ENODATA" || code === "ENOTFOUND")) {
    return describeFailure("dns", `${name} has no address.`);
  }
  return describeFailure("dns", `DNS could not answer for ${name} (${codes.join(", ")}).`);
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown";
}
