/**
 * Why there is no connection.
 *
 * - `address_refused`: the address may not be called, by our own rules.
 * - `dns`, `dns_timeout`: the name has no address, or nobody said so in time.
 * - `connect_refused`, `connect_timeout`, `connect`: no connection; the timeout counts the TLS handshake in.
 * - `tls`: no connection that can be trusted, such as a wrong or expired certificate.
 * - `reset`: closed by the server as soon as it had accepted.
 */
export type ConnectFailureCode =
  | "address_refused"
  | "dns"
  | "dns_timeout"
  | "connect_refused"
  | "connect_timeout"
  | "connect"
  | "tls"
  | "reset";

/** A failure of some kind, and its description. */
export interface DescribedFailure<Kind extends string> {
  readonly failure: Kind;
  readonly detail: string;
}

export type ConnectFailure = DescribedFailure<ConnectFailureCode>;

/** Long enough for OpenSSL's sentences, too short for a server that writes its own. */
const MAX_DETAIL_LENGTH = 300;

/** Describes a failure in a text that may be shown: without control characters and of bounded length, whatever its source. */
export function describeFailure<Kind extends string>(failure: Kind, words: string): DescribedFailure<Kind> {
  // oxlint-disable-next-line no-control-regex -- control characters are the point
  const safe = words.replace(/[\u0000-\u001f\u007f]+/g, " ").trim();
  return { failure, detail: safe.length > MAX_DETAIL_LENGTH ? `${safe.slice(0, MAX_DETAIL_LENGTH - 1)}…` : safe };
}
