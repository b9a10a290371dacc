/** Reads the values of variables about alerts and traces. */

/** One address each: no name, no second one behind a comma that is not meant as such. */
const MAIL_ADDRESS = /^[^\s@,;:<>()[\]"\\]{1,64}@[^\s@,;:<>()[\]"\\]{1,189}$/u;
/** Too high: a list of this length should be a mailing list, which is one address. */
const MAX_ADDRESSES = 10;

export function mailAddresses(text: string): readonly string[] {
  const addresses = [...new Set(text.split(",").map((part) => part.trim()))];
  if (addresses.length > MAX_ADDRESSES || !addresses.every((address) => MAIL_ADDRESS.test(address))) {
    throw new Error(`must be up to ${MAX_ADDRESSES} mail addresses, separated by commas, such as ops@example.com`);
  }
  return addresses;
}

/** Returns the base URL of a collector, as every program that speaks OTLP takes it. @returns where traces go */
export function otlpTracesUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.search !== "" || url.hash !== "") {
    throw new Error("must be the http or https URL of an OTLP collector, such as http://127.0.0.1:4318");
  }
  return `${url.href.replace(/\/$/, "")}/v1/traces`;
}

/** `name=value` pairs, separated by commas, with values that are percent-encoded (OTEL_EXPORTER_OTLP_HEADERS). */
export function headerPairs(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(",").map((part) => {
    const [, name, value] = /^\s*([\w-]+)\s*=(.*)$/.exec(part) ?? [];
    if (name === undefined || value === undefined)
      throw new Error("must be headers such as authorization=Bearer%20abc,x-tenant=main");
    return [name, decodeURIComponent(value.trim())] as const;
  });
  return Object.fromEntries(pairs);
}

export function share(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= 0 && value <= 1) return value;
  throw new Error("must be a number from 0 to 1, such as 0.1");
}
