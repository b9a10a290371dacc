import type { Socket } from "node:net";
import type { SecureContext } from "node:tls";
import { isLoopbackName, literalAddress, portOf } from "./address-guard.ts";
import { connectFirst } from "./connect-first.ts";
import { describeFailure } from "./dial-failure.ts";
import type { DialFailure } from "./dial-failure.ts";
import { NetworkList } from "./network-list.ts";
import type { Resolution } from "./resolve.ts";
import { secure } from "./secure.ts";

/** What opening a connection may cost. */
export interface DialLimits {
  /** TCP and TLS together, over all addresses of the name. */
  readonly connectMs: number;
  /** Head start of an address over the next one. */
  readonly staggerMs: number;
  /** Of how many addresses a name is dialled at most; all are judged. */
  readonly addresses: number;
}

export interface DialOptions {
  /** Why an address that a URL leads to must not be called; undefined where it may. */
  readonly refuse: (address: string, url: URL) => string | undefined;
  /** All addresses of a name. */
  readonly resolve: (name: string) => Promise<Resolution>;
  readonly limits: DialLimits;
  readonly monotonic: () => number;
  readonly secureContext: () => SecureContext;
}

/** Milliseconds that each part took; null where it did not happen. */
export interface DialTimings {
  readonly dns: number | null;
  /** TCP. */
  readonly connect: number | null;
  readonly tls: number | null;
}

/** An open connection to a checked address, or why there is none; what was found out on the way in both cases. */
export interface Dialled {
  readonly result: { readonly socket: Socket } | DialFailure;
  readonly remoteAddress: string | null;
  readonly timings: DialTimings;
}

/**
 * Opens a connection for an http or https URL. Its addresses are looked up once and judged, all of them;
 * one of exactly these is dialled, and the far end is compared before the first byte is written. Never throws.
 */
export async function dial(url: URL, options: DialOptions): Promise<Dialled> {
  const { refuse, limits, monotonic } = options;
  const timings = { dns: null as number | null, connect: null as number | null, tls: null as number | null };
  const fail = (result: DialFailure, remoteAddress: string | null = null): Dialled => ({
    result,
    remoteAddress,
    timings,
  });

  const literal = literalAddress(url);
  const asked = monotonic();
  const answer = literal === undefined ? await options.resolve(url.hostname) : { addresses: [literal] };
  if (literal === undefined) timings.dns = monotonic() - asked;
  if (!("addresses" in answer)) return fail(answer);

  const judged = judgeAnswers(url, answer.addresses, refuse);
  if (!("addresses" in judged)) return fail(judged);

  const began = monotonic();
  const { connectMs: timeoutMs, staggerMs } = limits;
  const tcp = await connectFirst(alternate(judged.addresses, limits.addresses), portOf(url), { timeoutMs, staggerMs });
  timings.connect = monotonic() - began;
  if (!("socket" in tcp)) return fail(tcp);

  const remoteAddress = tcp.socket.remoteAddress ?? null;
  const stranger = judgeFarEnd(remoteAddress, judged.addresses, url, refuse);
  if (stranger !== undefined) {
    tcp.socket.destroy();
    return fail(stranger, remoteAddress);
  }
  if (url.protocol === "http:") return { result: tcp, remoteAddress, timings };

  const greeted = monotonic();
  const left = Math.max(1, limits.connectMs - timings.connect);
  const result = await secure(tcp.socket, literal ?? url.hostname, options.secureContext(), left);
  timings.tls = monotonic() - greeted;
  return { result, remoteAddress, timings };
}

/**
 * Answers of one name that are judged. Lower refuses a name that is spread widely; higher lets whoever runs the name
 * hold up all other attempts, 20 µs for each of the 8,000 addresses that fit into two answers.
 */
const MOST_ANSWERS = 100;

/** Refuses all answers if one is bad: whoever mixes them in is not to be trusted with the others. */
function judgeAnswers(
  url: URL,
  addresses: readonly string[],
  refuse: DialOptions["refuse"],
): { readonly addresses: readonly string[] } | DialFailure {
  if (addresses.length > MOST_ANSWERS) {
    return describeFailure("dns", `${url.hostname} has ${addresses.length} addresses, more than are looked at.`);
  }
  const refusals = addresses.map((address) => refuse(address, url));
  if (isLoopbackName(url.hostname)) {
    // These two are ours, not answers; the operator may have named the network of one alone.
    const named = addresses.filter((_address, index) => refusals[index] === undefined);
    if (named.length > 0) return { addresses: named };
  }
  const refusal = refusals.find((each) => each !== undefined);
  return refusal === undefined ? { addresses } : describeFailure("address_refused", refusal);
}

/** The last look before anything is written: the far end is an address that was dialled, and still a good one. */
function judgeFarEnd(
  remoteAddress: string | null,
  dialled: readonly string[],
  url: URL,
  refuse: DialOptions["refuse"],
): DialFailure | undefined {
  if (remoteAddress === null) return describeFailure("reset", "The far side closed as soon as it had accepted.");
  if (!new NetworkList(dialled).includes(remoteAddress)) {
    return describeFailure("address_refused", `The connection led to ${remoteAddress}, which was not dialled.`);
  }
  const refusal = refuse(remoteAddress, url);
  return refusal === undefined ? undefined : describeFailure("address_refused", refusal);
}

/** The families in turn, so that a family without a route costs one head start only. */
function alternate(addresses: readonly string[], most: number): string[] {
  const families = [addresses.filter((each) => !each.includes(":")), addresses.filter((each) => each.includes(":"))];
  const longest = Math.max(...families.map(({ length }) => length));
  return Array.from({ length: longest }, (_, index) => families.flatMap((family) => family.slice(index, index + 1)))
    .flat()
    .slice(0, most);
}
