import { Server as TlsServer } from "node:tls";
import type { Conditions } from "../conditions/lasting-conditions.ts";
import type { Config } from "../config.ts";
import type { Logger } from "../logger.ts";
import { type Certificate, endOf, watchCertificate } from "./certificate.ts";

/** Puts a renewed certificate to use without a restart. */
export function followCertificate(
  server: object,
  files: NonNullable<Config["tls"]>,
  certificate: Certificate,
  { logger, conditions }: { readonly logger: Pick<Logger, "info">; readonly conditions: Conditions },
): { close(): void } {
  const reading = conditions.of("reading the certificate", { quietMs: Number.POSITIVE_INFINITY });
  return watchCertificate({
    files,
    certificate,
    use: (next) => {
      if (server instanceof TlsServer) server.setSecureContext(next);
      logger.info({ ends: endOf(next) }, "the renewed certificate is in use");
    },
    onRead: reading.succeeded,
    onError: reading.failed,
  });
}
