import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type Config, ConfigError } from "../config.ts";
import { codeOf } from "../db/errors.ts";

/** What we speak HTTPS with. */
export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

type Files = NonNullable<Config["tls"]>;

/**
 * Reads the certificate and its key.
 * @throws ConfigError naming the variable when a file cannot be read, is no PEM, or the two do not belong together
 */
export async function readCertificate({ certFile, keyFile }: Files): Promise<Certificate> {
  const cert = await readNamed("TLS_CERT_FILE", certFile);
  const key = await readNamed("TLS_KEY_FILE", keyFile);
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
  return { cert, key };
}

/** When the server's own certificate ends. */
export function endOf({ cert }: Certificate): Date {
  return new Date(new X509Certificate(cert).validTo);
}

async function readNamed(variable: string, file: string): Promise<Buffer> {
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

function parse<Value>(fault: string, read: () => Value): Value {
  try {
    return read();
  } catch {
    // OpenSSL's own words are riddles, and a part of a key must not reach a log.
    throw new ConfigError(fault);
  }
}

export interface CertificateWatchOptions {
  readonly files: Files;
  /** What is in use. */
  readonly certificate: Certificate;
  /** Puts a new one to use. */
  readonly use: (certificate: Certificate) => void;
  /** The files are good, whether or not they are new. */
  readonly onRead?: () => void;
  readonly onError: (error: unknown) => void;
}

/** Milliseconds between two looks. A renewed certificate has weeks left, and a look is two small reads. */
const LOOK_MS = 30_000;

/** Puts a renewed certificate to use while the service runs. */
export interface CertificateWatch {
  /** Looks now. */
  look(): Promise<void>;
  close(): void;
}

/**
 * Looks at the files again and again: they are usually links that are put to new files, of which no notice of the system
 * would tell. While the files are not good, such as between the writing of one and of the other, the old ones stay in use.
 */
export function watchCertificate(options: CertificateWatchOptions): CertificateWatch {
  const { files, use, onRead, onError } = options;
  let current = options.certificate;
  const look = async () => {
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
  const timer = setInterval(() => void look(), LOOK_MS);
  timer.unref();
  return { look, close: () => clearInterval(timer) };
}
