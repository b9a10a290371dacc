import type { RequestDetail } from "@bikeshare/contract/console";
import { Code } from "../../components/code.tsx";
import { curlOf } from "./curl.ts";

/** A refused request, its response, and a command that sends it again. */
export function RefusedRequest({ request }: { readonly request: RequestDetail }) {
  const { status, error, message, target, body, body_bytes: bytes } = request;
  if (status < 400) return null;
  if (error === "rate_limited") {
    return (
      <p class="muted">Path, query and body of requests beyond the limit are not kept: each has the same reason.</p>
    );
  }
  if (message === null || target === null) {
    return <p class="muted">The message and body were not kept: too many requests were refused at that time.</p>;
  }
  return (
    <>
      <h3>Request</h3>
      <Code text={`${request.method} ${target}`} label="Path and query" />
      {body !== null && <Code text={indented(body)} label="Request body" />}
      {body === null && bytes !== null && (
        <p class="muted">
          Its body of {bytes.toLocaleString("en")} bytes was not kept: it is no JSON, was not read, or is too large.
        </p>
      )}
      <h3>Answer</h3>
      <Code text={JSON.stringify({ error, message }, null, 2)} label="Answer body" />
      <h3>As curl</h3>
      <Code text={curlOf(request, location.origin + target)} label="curl command" />
    </>
  );
}

function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
