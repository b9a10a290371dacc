import { constants, createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { Server as TlsServer } from "node:tls";
import { type Config, ConfigError } from "../../config.ts";
import type { Conditions } from "../../health/conditions/conditions.ts";
import type { Logger } from "../../logger.ts";
import { codeOf } from "../../storage/db/errors.ts";

/* Reads the certificate of HTTPS, and replaces it in a running server when its files change. */

/** The certificate chain and private key that HTTPS is served with, in PEM. */
export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Forbids TLS renegotiation: it allows many costly handshakes on one connection, and only attackers use it. */
  readonly secureOptions: typeof constants.SSL_OP_NO_RENEGOTIATION;
}

type Files = NonNullable<Config["tls"]>;

/**
 * Reads the certificate and its key.
 * @throws ConfigError that names the variable, when a file cannot be read or is not PEM, or when the key does not belong to
 * the certificate
 */
export async function readCertificate({ certFile, keyFile }: Files): Promise<Certificate> {
  const cert = await readFileNamedBy("TLS_CERT_FILE", certFile);
  const key = await readFileNamedBy("TLS_KEY_FILE", keyFile);
  const certificate = parse(
    `TLS_CERT_FILE=${certFile}: holds no certificate in PEM. It begins with -----BEGIN CERTIFICATE-----, the server's own first, then those between it and the authority.`,
    () => new X509Certificate(cert),
  );
  const privateKey = parse(
    `TLS_KEY_FILE=${keyFile}: holds no private key in PEM without a passphrase. It begins with -----BEGIN PRIVATE KEY----- or the like; \`openssl pkey -in <file> -out <new file>\` takes a passphrase away.`,
    () => createPrivateKey(key),
  );
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new ConfigError(
      `TLS_KEY_FILE=${keyFile}: is not the key of the certificate in TLS_CERT_FILE=${certFile}. The first certificate of that file must be the server's own.`,
    );
  }
  return { cert, key, secureOptions: constants.SSL_OP_NO_RENEGOTIATION };
}

/** Returns when the server's own certificate expires. */
export function expiryOf({ cert }: Pick<Certificate, "cert">): Date {
  return new Date(new X509Certificate(cert).validTo);
}

async function readFileNamedBy(variable: string, file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    const why: Readonly<Record<string, string>> = {
      ENOENT: "there is no such file",
      EACCES: "this account may not read it",
      EISDIR: "is a directory, and must be a file",
    };
    throw new ConfigError(
      `${variable}=${file}: ${why[codeOf(error) ?? ""] ?? String(error)}. Name a file in PEM that this account may read.`,
      { cause: error },
    );
  }
}

/** Reads a value. @throws ConfigError with `message` when it cannot be read */
function parse<Value>(message: string, read: () => Value): Value {
  try {
    return read();
  } catch {
    // OpenSSL's messages are not helpful, and a part of a key must not reach a log.
    throw new ConfigError(message);
  }
}

export interface CertificateWatchOptions {
  readonly files: Files;
  /** The certificate in use. */
  readonly certificate: Certificate;
  /** Switches to a new certificate. */
  readonly use: (certificate: Certificate) => void;
  /** Called after each read of valid files, changed or not. */
  readonly onRead?: () => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Milliseconds between two reads of the files. Too high is harmless, since certificates are renewed weeks before they
 * expire. Too low: reads two small files more often.
 */
const POLL_INTERVAL_MS = 30_000;

/** A certificate whose files are watched. */
export interface CertificateWatch {
  /** Reads the files now. */
  poll(): Promise<void>;
  close(): void;
}

/**
 * Polls the files for a renewed certificate. Polling, because the files are usually symbolic links: file system
 * notifications do not report that a link leads to a new file. While the files are invalid, for example when only one of
 * them is renewed yet, the old certificate stays in use.
 */
export function watchCertificate(options: CertificateWatchOptions): CertificateWatch {
  const { files, use, onRead, onError } = options;
  let current = options.certificate;
  const poll = async () => {
    try {
      const next = await readCertificate(files);
      onRead?.();
      if (next.cert.equals(current.cert) && next.key.equals(current.key)) return;
      use(next);
      current = next;
    } catch (error) {
      onError(error);
    }
  };
  const timer = setInterval(() => void poll(), POLL_INTERVAL_MS);
  timer.unref();
  return { poll, close: () => clearInterval(timer) };
}

/** Makes a running server use a renewed certificate. @param server Fastify declares it as one of plain HTTP */
export function followCertificate(
  server: object,
  files: NonNullable<Config["tls"]>,
  certificate: Certificate,
  { logger, conditions }: { readonly logger: Pick<Logger, "info">; readonly conditions: Conditions },
): { close(): void } {
  // A failure counts as solved only by a successful read, which `onRead` reports.
  const reading = conditions.of("reading the certificate", { quietMs: Number.POSITIVE_INFINITY });
  return watchCertificate({
    files,
    certificate,
    use: (next) => {
      if (server instanceof TlsServer) server.setSecureContext(next);
      logger.info({ expires_at: expiryOf(next) }, "the renewed certificate is in use");
    },
    onRead: reading.succeeded,
    onError: reading.failed,
  });
}
