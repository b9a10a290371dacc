import type { Answered, RequestBody } from "./receiver-cases.ts";

/** Sends a request to a server on loopback. */
export async function sendTo(
  url: string,
  { method = "POST", headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: RequestBody },
): Promise<Answered> {
  const response = await fetch(url, {
    method,
    headers,
    ...(body === undefined ? {} : { body, duplex: "half" as const }),
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}
