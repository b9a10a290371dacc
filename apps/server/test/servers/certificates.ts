import { generate } from "selfsigned";

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

const DAY_MS = 24 * 3600 * 1000;

/**
 * Creates a self-signed certificate for a host name or an IP address.
 * @param daysFromNow days until the certificate expires; negative: it has expired
 */
export async function makeCertificate(host: string, daysFromNow = 30): Promise<Certificate> {
  const now = performance.timeOrigin + performance.now();
  const isAddress = /^[\d.]+$/.test(host);
  const { private: key, cert } = await generate([{ name: "commonName", value: host }], {
    keyType: "ec",
    notBeforeDate: new Date(now - 60 * DAY_MS),
    notAfterDate: new Date(now + daysFromNow * DAY_MS),
    extensions: [
      { name: "basicConstraints", cA: true },
      { name: "subjectAltName", altNames: [isAddress ? { type: 7, ip: host } : { type: 2, value: host }] },
    ],
  });
  return { key, cert };
}
