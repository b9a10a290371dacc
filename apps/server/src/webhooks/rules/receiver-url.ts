import {
  isLoopbackName,
  checkAddress,
  literalAddress,
  loopbackAddresses,
  type NetworkList,
  portOf,
} from "../../outbound/addresses/address-guard.ts";

/* Decides which URLs a webhook may have, and which addresses it may lead to. */

/** The operator's rules: which addresses webhooks may reach in addition to public ones, and which ports. */
export interface AddressRules {
  /** WEBHOOK_ALLOW_NETWORKS. */
  readonly allowNetworks: NetworkList;
  /** WEBHOOK_ALLOW_PORTS, as `parsePorts` reads it: no other port is allowed, not even 443. */
  readonly allowPorts: readonly PortRange[];
  /** Whether receivers on this machine may have any port. Only `start` allows it, for developers who try their receivers. */
  readonly allowEveryLoopbackPort?: boolean;
}

/** A range of ports, both ends included. */
export interface PortRange {
  readonly from: number;
  readonly to: number;
}

const howToAllow = "Use a public address, or let the operator name the network in WEBHOOK_ALLOW_NETWORKS.";

/**
 * Reads a list of ports and ranges of ports, such as `443,8443,1024-65535`.
 * @throws Error naming the part that is neither a port nor a range, or saying that the list is empty
 */
export function parsePorts(text: string): PortRange[] {
  const parts = text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  if (parts.length === 0) throw new Error("no port is listed; 443 is the usual one");
  return parts.map((part) => {
    const [, from = "", to = from] = /^(\d{1,5})(?:\s*-\s*(\d{1,5}))?$/.exec(part) ?? [];
    const range = { from: Number(from), to: Number(to) };
    if (from === "" || range.from < 1 || range.to > 65_535 || range.from > range.to) {
      throw new Error(`"${part}" is neither a port from 1 to 65535 nor a range of ports such as 8000-8999`);
    }
    return range;
  });
}

/** Tells whether a port is one of those listed. */
function isPortAllowed(port: number, ports: readonly PortRange[]): boolean {
  return ports.some(({ from, to }) => port >= from && port <= to);
}

/** A stable word for why a URL is refused. */
type UrlIssue = "too_long" | "invalid" | "scheme" | "userinfo" | "fragment" | "host" | "port" | "address";

export type UrlVerdict =
  | { readonly ok: true; readonly url: URL }
  | { readonly ok: false; readonly reason: UrlIssue; readonly message: string };

/** Maximum characters of a receiver's URL. Too low: rejects real URLs. Too high: each row of the log may be larger. */
const MAX_URL_LENGTH = 2048;

/**
 * Returns why an address that a URL leads to must not be called, or undefined if it may. Plain http is for networks that the
 * operator has named.
 */
export function refuseReceiverAddress(
  address: string,
  { protocol, hostname }: URL,
  { allowNetworks }: AddressRules,
): string | undefined {
  // `named` of a verdict: the address is in WEBHOOK_ALLOW_NETWORKS.
  const verdict = checkAddress(address, allowNetworks);
  if (!verdict.ok) return `${hostname}: ${verdict.message} ${howToAllow}`;
  if (protocol === "https:" || verdict.named) return undefined;
  return `${hostname} leads to ${address}, which the operator has not named in WEBHOOK_ALLOW_NETWORKS; use https there.`;
}

/**
 * Judges a partner's URL as far as that can be done without asking DNS: when it is set and before every attempt. If the host
 * is a name, its addresses are judged when a connection is made (`refuseReceiverAddress`), for plain http too.
 */
export function judgeUrl(text: string, rules: AddressRules): UrlVerdict {
  const url = parseStrictly(text);
  if (!(url instanceof URL)) return url;
  return judgeHost(url) ?? judgeDestination(url, rules) ?? judgePort(url, rules) ?? { ok: true, url };
}

/** Returns the URL, or the verdict if the text is not a plain web address that everybody reads the same way. */
function parseStrictly(text: string): URL | UrlVerdict {
  if (text.length > MAX_URL_LENGTH) return refuse("too_long", `The URL is longer than ${MAX_URL_LENGTH} characters.`);
  // A URL parser silently drops or converts these characters, so that the reader would see a different URL from the one
  // that is called.
  // oxlint-disable-next-line no-control-regex -- control characters are the point
  if (/[\s\u0000-\u001f\u007f\\]/.test(text)) {
    return refuse("invalid", "The URL holds spaces, control characters or backslashes; write them encoded (%20).");
  }
  if (!URL.canParse(text)) {
    return refuse("invalid", "The URL cannot be read; it should look like https://example.com/webhooks.");
  }
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    return refuse("scheme", `The URL begins with ${url.protocol}; it must begin with https://.`);
  }
  // These two checks read the text: an empty user (`https://@host`) or fragment leaves no trace in the parsed URL.
  if (/^[a-z]+:\/*[^/?#]*@/i.test(text)) {
    return refuse("userinfo", "The URL holds a user or password before @; verify Service-Signature instead.");
  }
  if (text.includes("#")) return refuse("fragment", "The URL has a fragment (#…), which is never sent; leave it out.");
  return url;
}

/** Judges the spelling of a host. @returns undefined: nothing is wrong with it */
function judgeHost(url: URL): UrlVerdict | undefined {
  const { hostname } = url;
  if (literalAddress(url) !== undefined) return undefined;
  if (hostname.endsWith(".")) return refuse("host", "The host ends in a dot; write it without.");
  const isName = hostname.length <= 253 && hostname.split(".").every((label) => /^[a-z0-9_-]{1,63}$/.test(label));
  return isName ? undefined : refuse("host", "The host is neither a domain name nor an IP address.");
}

function judgePort(url: URL, { allowPorts, allowEveryLoopbackPort = false }: AddressRules): UrlVerdict | undefined {
  const port = portOf(url);
  if (isPortAllowed(port, allowPorts) || (allowEveryLoopbackPort && isThisMachine(url))) return undefined;
  const listed = allowPorts.map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`)).join(", ");
  return refuse(
    "port",
    `Port ${port} is not allowed; allowed: ${listed}. The operator may list more in WEBHOOK_ALLOW_PORTS.`,
  );
}

function isThisMachine(url: URL): boolean {
  return isLoopbackName(url.hostname) || loopbackAddresses.includes(literalAddress(url) ?? "");
}

/**
 * Judges the addresses that are known without DNS: an IP address in the URL, or those of localhost.
 * @returns undefined: nothing is wrong, as far as the addresses are known
 */
function judgeDestination(url: URL, rules: AddressRules): UrlVerdict | undefined {
  const isPlain = url.protocol === "http:";
  const addresses = knownAddresses(url);
  // The addresses of a name are judged later. Plain http can only succeed there if the operator has named a network.
  if (addresses.length === 0) return isPlain && rules.allowNetworks.networks.length === 0 ? refusePlain() : undefined;

  const verdicts = addresses.map((address) => checkAddress(address, rules.allowNetworks));
  // One accepted address is enough for localhost, because its addresses are fixed and do not come from DNS.
  if (verdicts.some((verdict) => verdict.ok && (verdict.named || !isPlain))) return undefined;
  const refused = verdicts.find((verdict) => !verdict.ok);
  return refused === undefined ? refusePlain() : refuse("address", `${refused.message} ${howToAllow}`);
}

/** Returns the addresses of a URL's host that are known without DNS; empty: the host is another name than localhost. */
function knownAddresses(url: URL): readonly string[] {
  if (isLoopbackName(url.hostname)) return loopbackAddresses;
  const literal = literalAddress(url);
  return literal === undefined ? [] : [literal];
}

function refusePlain(): UrlVerdict {
  return refuse(
    "scheme",
    "The URL must begin with https://. Plain http is for networks that the operator has named in WEBHOOK_ALLOW_NETWORKS.",
  );
}

function refuse(reason: UrlIssue, message: string): UrlVerdict {
  return { ok: false, reason, message };
}
