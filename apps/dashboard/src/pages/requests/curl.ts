import type { RequestDetail } from "@bikeshare/contract/console";
import { quoted } from "../quoted.ts";

/**
 * Writes a request as a command. The page cannot send it itself: the service keeps of a key only its hash. The key comes
 * from the environment, so that it stands in no history of commands.
 */
export function curlOf({ method, body }: Pick<RequestDetail, "method" | "body">, url: string): string {
  const lines = [
    `curl ${method === "GET" ? "" : `-X ${method} `}${quoted(url)}`,
    '-H "Authorization: Bearer $API_KEY"',
  ];
  if (method === "POST" || method === "PATCH") lines.push('-H "Idempotency-Key: $(uuidgen)"');
  if (body !== null) lines.push(`-H ${quoted("Content-Type: application/json")}`, `--data-raw ${quoted(body)}`);
  return lines.join(" \\\n  ");
}
