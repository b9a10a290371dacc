import type { CustomFetch } from "openid-client";
import { isLoopback } from "../../runtime/startup/values.ts";

/** The identity provider did not answer, or not within the bounds. */
export class ProviderUnavailable extends Error {
  override readonly name = "ProviderUnavailable";
}

/** Bytes of an answer. Metadata and key sets have some kilobytes. */
const MAX_ANSWER_BYTES = 256 * 1024;
/** Requests to the provider at once: beyond, it is overloaded, and more of them would not help it. */
const MAX_REQUESTS = 50;

/**
 * Returns a `fetch` for the identity provider. The provider may be in a private network, because the operator named it, and
 * so may the addresses that it names: its owner can sign in as anybody here anyway. The addresses must be https, except on
 * this machine.
 */
export function createBoundedFetch(): CustomFetch {
  let running = 0;
  return async (address, { signal, body: sent, ...request }) => {
    requireSecure(address);
    if (running >= MAX_REQUESTS) throw new ProviderUnavailable(`${MAX_REQUESTS} requests to it are waiting already`);
    running += 1;
    try {
      const response = await fetch(address, { ...request, body: sent ?? null, signal: signal ?? null });
      const body = await readBounded(response);
      const { status, statusText, headers } = response;
      if (status >= 500) throw new ProviderUnavailable(`${hostOf(address)} answered with status ${status}`);
      return new Response(body.length === 0 ? null : new Uint8Array(body), { status, statusText, headers });
    } catch (error) {
      if (error instanceof ProviderUnavailable) throw error;
      throw new ProviderUnavailable(`${hostOf(address)}: ${reasonOf(error)}`, { cause: error });
    } finally {
      running -= 1;
    }
  };
}

/** @throws ProviderUnavailable for an address that a browser or this service must not go to */
export function requireSecure(address: string): void {
  const url = URL.parse(address);
  const isSecure = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname));
  if (!isSecure) throw new ProviderUnavailable(`it names an address that is not https: ${hostOf(address)}`);
}

async function readBounded(response: Response): Promise<Buffer> {
  if (response.body === null) return Buffer.alloc(0);
  const body: AsyncIterable<Uint8Array> = response.body;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > MAX_ANSWER_BYTES) throw new ProviderUnavailable(`it answered with more than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function hostOf(address: string): string {
  return URL.parse(address)?.host ?? "an invalid address";
}

/** Returns the reason of a failed `fetch`, which its error hides in the cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return "no answer in time";
  return error.cause instanceof Error ? error.cause.message : error.message;
}
