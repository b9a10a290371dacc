import { formatV4, isInNetwork, lowestV4, parseAddress, parseNetwork, unmapped } from "./addresses.ts";
import type { IpAddress } from "./addresses.ts";
import { findRefusedRange, translatedNetwork } from "./refused-ranges.ts";
import type { RangeKind } from "./refused-ranges.ts";

/** What the operator lets webhooks reach beside public addresses. */
export interface AddressRules {
  /** WEBHOOK_ALLOW_NETWORKS, as `parseNetworks` of http/networks.ts gives them. */
  readonly allowNetworks: readonly string[];
  /** WEBHOOK_ALLOW_PORTS, as `parsePorts` gives them: all that is allowed, 443 included only if it is listed. */
  readonly allowPorts: readonly PortRange[];
}

export interface PortRange {
  readonly from: number;
  readonly to: number;
}

/** `named`: the operator has named its network; plain http is for those alone. */
export type AddressVerdict =
  | { readonly ok: true; readonly named: boolean }
  | { readonly ok: false; readonly reason: RangeKind | "invalid" | "zone"; readonly message: string };

const howToAllow = "Use a public address, or let the operator name the network in WEBHOOK_ALLOW_NETWORKS.";

/**
 * Reads a list of ports and ranges of ports, such as `443,8443,1024-65535`.
 * @throws Error naming the part that is none, or saying that the list is empty
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

/** Whether a port is one of those listed. */
function isPortAllowed(port: number, ports: readonly PortRange[]): boolean {
  return ports.some(({ from, to }) => port >= from && port <= to);
}

/**
 * Whether webhooks may be sent to an address: it is public or in a network that the operator has named. Holds for
 * literal addresses, for every answer of a name and for the far end of an open connection alike.
 */
export function judgeAddress(text: string, rules: AddressRules): AddressVerdict {
  const address = parseAddress(text);
  if (address === null) return refuseSpelling(text);
  if (isNamed(address, rules)) return { ok: true, named: true };

  const range = findRefusedRange(translated(address) ?? address);
  if (range === undefined) return { ok: true, named: false };
  const inside = translated(address);
  const subject = inside === undefined ? text : `${formatV4(inside)} (inside ${text})`;
  return { ok: false, reason: range.kind, message: `${subject} is an address of ${range.name}. ${howToAllow}` };
}

/** The IPv4 address behind the public translator; where it leads counts, even if its own network is a named one. */
function translated(address: IpAddress): IpAddress | undefined {
  return isInNetwork(translatedNetwork, address) ? lowestV4(address) : undefined;
}

function isNamed(address: IpAddress, { allowNetworks }: AddressRules): boolean {
  const plain = unmapped(address);
  return allowNetworks
    .map(parseNetwork)
    .some((network) => isInNetwork(network, plain) || isInNetwork(network, address));
}

function refuseSpelling(text: string): AddressVerdict {
  return text.includes("%")
    ? { ok: false, reason: "zone", message: `The address names a zone of this machine (%). ${howToAllow}` }
    : { ok: false, reason: "invalid", message: "The address is no IP address." };
}

/** A stable word for why a URL is refused. */
type UrlRefusal = "too_long" | "invalid" | "scheme" | "userinfo" | "fragment" | "host" | "port" | "address";

export type UrlVerdict =
  | { readonly ok: true; readonly url: URL }
  | { readonly ok: false; readonly reason: UrlRefusal; readonly message: string };

/** Longer than any receiver's; higher only lets more into every row of the log. */
const maxLength = 2048;

/** Names that always mean this machine (RFC 6761). They are never asked of DNS, which could say anything. */
export const loopbackAddresses: readonly string[] = ["127.0.0.1", "::1"];

/** Whether a host (as `URL.hostname` gives it) is one of the names that mean this machine. */
export function isLoopbackName(hostname: string): boolean {
  return hostname === "localhost" || hostname.endsWith(".localhost");
}

/** The literal address that a host is (without brackets), or undefined where it is a name. */
export function literalAddress({ hostname }: URL): string | undefined {
  if (hostname.startsWith("[")) return hostname.slice(1, -1);
  // The parser has already turned every spelling of IPv4 into the dotted one.
  return /^\d+\.\d+\.\d+\.\d+$/.test(hostname) ? hostname : undefined;
}

/** The port that a URL leads to. */
export function portOf({ port, protocol }: URL): number {
  if (port !== "") return Number(port);
  return protocol === "https:" ? 443 : 80;
}

/**
 * Judges a partner's URL as far as that can be done without asking DNS: when it is set and before every attempt.
 * Where the host is a name its addresses are judged when it is dialled, plain http to a name included.
 */
export function judgeUrl(text: string, rules: AddressRules): UrlVerdict {
  const url = parseStrictly(text);
  if (!(url instanceof URL)) return url;
  return judgeHost(url) ?? judgePlace(url, rules) ?? judgePort(url, rules) ?? { ok: true, url };
}

function parseStrictly(text: string): URL | UrlVerdict {
  if (text.length > maxLength) return refuse("too_long", `The URL is longer than ${maxLength} characters.`);
  // A URL parser drops or turns these silently, so that what is read is not what is called.
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
  if (/^[a-z]+:\/*[^/?#]*@/i.test(text)) {
    return refuse("userinfo", "The URL holds a user or password before @; verify Service-Signature instead.");
  }
  if (text.includes("#")) return refuse("fragment", "The URL has a fragment (#…), which is never sent; leave it out.");
  return url;
}

function judgeHost(url: URL): UrlVerdict | undefined {
  const { hostname } = url;
  if (literalAddress(url) !== undefined) return undefined;
  if (hostname.endsWith(".")) return refuse("host", "The host ends in a dot; write it without.");
  const isName = hostname.length <= 253 && hostname.split(".").every((label) => /^[a-z0-9_-]{1,63}$/.test(label));
  return isName ? undefined : refuse("host", "The host is neither a domain name nor an IP address.");
}

function judgePort(url: URL, { allowPorts }: AddressRules): UrlVerdict | undefined {
  const port = portOf(url);
  if (isPortAllowed(port, allowPorts)) return undefined;
  const listed = allowPorts.map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`)).join(", ");
  return refuse(
    "port",
    `Port ${port} is not allowed; allowed: ${listed}. The operator may list more in WEBHOOK_ALLOW_PORTS.`,
  );
}

function judgePlace(url: URL, rules: AddressRules): UrlVerdict | undefined {
  const isPlain = url.protocol === "http:";
  const addresses = isLoopbackName(url.hostname) ? loopbackAddresses : [literalAddress(url)].filter(isText);
  if (addresses.length === 0) return isPlain && rules.allowNetworks.length === 0 ? refusePlain() : undefined;

  const verdicts = addresses.map((address) => judgeAddress(address, rules));
  // One is enough for localhost: its addresses are ours, not answers that somebody gave us.
  const accepted = verdicts.filter(({ ok }) => ok);
  if (accepted.some((verdict) => verdict.ok && (verdict.named || !isPlain))) return undefined;
  const refused = verdicts.find((verdict) => !verdict.ok);
  return refused === undefined ? refusePlain() : refuse("address", refused.message);
}

function isText(value: string | undefined): value is string {
  return value !== undefined;
}

function refusePlain(): UrlVerdict {
  return refuse(
    "scheme",
    "The URL must begin with https://. Plain http is for networks that the operator has named in WEBHOOK_ALLOW_NETWORKS.",
  );
}

function refuse(reason: UrlRefusal, message: string): UrlVerdict {
  return { ok: false, reason, message };
}
