/** Reads the values of variables about traces. */

/** The base URL of a collector, as every program that speaks OTLP takes it. @returns where traces go */
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
