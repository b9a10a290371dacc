import { constants } from "node:crypto";
import { isIP } from "node:net";
import type { Socket } from "node:net";
import { connect, createSecureContext } from "node:tls";
import type { SecureContext, TLSSocket } from "node:tls";
import { describeFailure } from "./dial-failure.ts";
import type { DialFailure } from "./dial-failure.ts";

/** A second handshake costs us ten times what it costs the far side to ask, and its certificate would not be checked. */
const secureOptions = constants.SSL_OP_NO_RENEGOTIATION;

/**
 * What TLS to others begins with. Made once, when first needed: it takes a while and memory to read all the authorities.
 *
 * @param ca certificate authorities (PEM) instead of those that Node trusts
 */
export function lazySecureContext(ca?: string): () => SecureContext {
  let context: SecureContext | undefined;
  return () => (context ??= createSecureContext({ ca, secureOptions }));
}

export type SecureResult = { readonly socket: TLSSocket } | DialFailure;

/**
 * Begins TLS on an open connection and checks that the certificate is the host's: trusted, in force, in its name.
 * NODE_TLS_REJECT_UNAUTHORIZED does not switch that off. Never throws.
 *
 * @param host a name or a literal address without brackets
 * @param timeoutMs for the whole handshake
 */
export function secure(
  tcp: Socket,
  host: string,
  secureContext: SecureContext,
  timeoutMs: number,
): Promise<SecureResult> {
  return new Promise((resolve) => {
    const socket = connect({
      socket: tcp,
      host,
      // A literal address must not be sent as a name (RFC 6066); the certificate is checked against it all the same.
      servername: isIP(host) === 0 ? host : "",
      secureContext,
      rejectUnauthorized: true,
      ALPNProtocols: ["http/1.1"],
    });
    const end = (result: SecureResult): void => {
      clearTimeout(timer);
      socket.off("secureConnect", onSecure).off("close", onClose).off("error", onError);
      // What fails from here on is told elsewhere or no longer matters, but must find a listener. What is no TLS does
      // not end the socket by itself: nobody would hear of it before the time was up.
      socket.on("error", () => socket.destroy());
      if (!("socket" in result)) socket.destroy();
      resolve(result);
    };
    const onSecure = (): void => end({ socket });
    const onError = (error: Error): void => end(describeFailure("tls", describeTlsError(error)));
    const onClose = (): void => end(describeFailure("tls", "The far side closed during the TLS handshake."));
    const timer = setTimeout(
      () => end(describeFailure("connect_timeout", "The TLS handshake did not end in time.")),
      timeoutMs,
    );
    socket.once("secureConnect", onSecure).once("close", onClose).once("error", onError);
  });
}

/** What OpenSSL means by it, in words for whoever runs the receiver. */
const knownAlerts: Readonly<Record<string, string>> = {
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: "The far side does not speak HTTP/1.1",
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: "The far side speaks neither TLS 1.2 nor 1.3",
};

/** An error of TLS in words, without the place in OpenSSL's source that its own message begins with. */
export function describeTlsError(error: Error): string {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (code === "ECONNRESET" || code === "EPIPE") return "The far side closed during the TLS handshake.";
  const reason = "reason" in error && typeof error.reason === "string" ? error.reason : error.message;
  return code === "" ? reason : `${knownAlerts[code] ?? reason} (${code})`;
}
