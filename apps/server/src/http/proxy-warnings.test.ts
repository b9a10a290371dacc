import { expect, test } from "vitest";
import { NetworkList } from "../outbound/addresses/address-guard.ts";
import { warnOfPlainListener } from "./transport.ts";

function warningsFor(host: string, hasTls = false, trustedProxies: readonly string[] = []): string[] {
  const warnings: string[] = [];
  warnOfPlainListener(
    { host, hasTls, trustedProxies: new NetworkList(trustedProxies) },
    { warn: (message: unknown) => void warnings.push(String(message)) },
  );
  return warnings;
}

test.each(["0.0.0.0", "::", "192.0.2.1", "bikes.example"])(
  "a listener at %s without TLS or a proxy is warned of, with what to set",
  (host) => {
    expect(warningsFor(host)).toEqual([expect.stringMatching(/^HOST=.*TLS_CERT_FILE.*TRUSTED_PROXIES\.$/)]);
    expect(warningsFor(host, true)).toEqual([]);
    expect(warningsFor(host, false, ["10.0.0.1"])).toEqual([]);
  },
);

test.each(["127.0.0.1", "::1", "localhost", "127.0.0.9"])("one at %s is not", (host) => {
  expect(warningsFor(host)).toEqual([]);
});
