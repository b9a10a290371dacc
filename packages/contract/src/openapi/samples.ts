/** A program that the documents show. */
export interface Sample {
  /** The language's name in Markdown. */
  readonly language: "sh" | "js" | "python";
  readonly program: string;
}

/** Programs that print every ride, page by page. A test of the service runs each of them. */
export function walks(baseUrl: string): readonly Sample[] {
  return [
    { language: "sh", program: shell(baseUrl) },
    { language: "js", program: javaScript(baseUrl) },
    { language: "python", program: python(baseUrl) },
  ];
}

/** Returns a shell program. It is in parentheses, so that `exit` does not end the terminal into which it is pasted. */
function shell(baseUrl: string): string {
  return `# curl (7.66 or newer) and jq. \`--retry\` waits as long as Retry-After says.
(
  next=
  while page=$(curl -sSf --retry 10 -H "Authorization: Bearer $API_KEY" "${baseUrl}/v1/rides?limit=200$next"); do
    printf '%s' "$page" | jq -c '.data[]'
    next=$(printf '%s' "$page" | jq -r '.next_cursor // empty | "&cursor=\\(@uri)"')
    [ -n "$next" ] || exit 0
  done
  echo "The list was cut off." >&2
  exit 1
)`;
}

function javaScript(baseUrl: string): string {
  return `// Node.js 20 or newer, in a module: rides.mjs
import { setTimeout } from "node:timers/promises";

const url = new URL("${baseUrl}/v1/rides?limit=200");
for (;;) {
  const response = await fetch(url, { headers: { authorization: \`Bearer \${process.env.API_KEY}\` } });
  if (response.status === 429 || response.status === 503) {
    await response.body?.cancel();
    await setTimeout(Number(response.headers.get("retry-after")) * 1000);
    continue;
  }
  if (!response.ok) throw new Error(\`\${response.status} \${await response.text()}\`);
  const { data, next_cursor } = await response.json();
  for (const ride of data) console.log(JSON.stringify(ride));
  if (next_cursor === undefined) break;
  url.searchParams.set("cursor", next_cursor);
}`;
}

function python(baseUrl: string): string {
  return `# Python 3.9 or newer
import json
import os
import time
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen


def rides():
    query = {"limit": 200}
    while True:
        url = "${baseUrl}/v1/rides?" + urlencode(query)
        try:
            request = Request(url, headers={"Authorization": "Bearer " + os.environ["API_KEY"]})
            with urlopen(request, timeout=60) as response:
                page = json.load(response)
        except HTTPError as error:
            if error.code not in (429, 503):
                raise RuntimeError(f"{error.code} {error.read().decode()}") from error
            time.sleep(int(error.headers["Retry-After"]))
            continue
        yield from page["data"]
        if "next_cursor" not in page:
            return
        query["cursor"] = page["next_cursor"]


for ride in rides():
    print(json.dumps(ride))`;
}
