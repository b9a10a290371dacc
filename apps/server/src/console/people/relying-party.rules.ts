/** The domain of a passkey: browsers use the passkey nowhere else. */
export interface RelyingParty {
  readonly id: string;
  readonly origin: string;
}

/**
 * Returns the relying party of a service at an address; undefined where browsers allow no passkey: on an IP address. This
 * machine goes by its name, on which they do.
 */
export function relyingParty(baseUrl: string): RelyingParty | undefined {
  const url = URL.parse(baseUrl);
  if (url === null) return undefined;
  if (/^(?:127(?:\.\d+){3}|\[::1\])$/.test(url.hostname)) url.hostname = "localhost";
  // URLs write any IPv4 address as four numbers, and any IPv6 address in brackets.
  if (/^(?:\d+(?:\.\d+){3}|\[.*\])$/.test(url.hostname)) return undefined;
  return { id: url.hostname, origin: url.origin };
}
