import type { RequestDetail } from "@bikeshare/contract/console";
import { quoted } from "../quoted.ts";

/**
 * Returns a curl command that repeats a request. The command reads the key from an environment variable: the service stores
 * only a key's hash, and a key in the command would enter the shell's history.
 */
export function curlOf({ method, body }: Pick<RequestDetail, "method" | "body">, url: string): string {
  const lines = [
    `curl ${method === "GET" ? "" : `-X ${method} `}${quoted(url)}`,
    '-H "Authorization: Bearer $API_KEY"',
  ];
  // All endpoints that take this header have one of these methods.
  if (method === "POST" || method === "PATCH") lines.push('-H "Idempotency-Key: $(uuidgen)"');
  if (body !== null) lines.push(`-H ${quoted("Content-Type: application/json")}`, `--data-raw ${quoted(body)}`);
  return lines.join(" \\\n  ");
}
