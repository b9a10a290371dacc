import { expect, test } from "vitest";
import { curlOf } from "../../src/pages/requests/curl.ts";

const url = "https://bikes.example/v1/reservations/r1";

test("a command repeats the request, with the key from the environment, and quotes what a shell would read", () => {
  expect(curlOf({ method: "GET", body: null }, `${url}?q=it's`)).toBe(
    `curl '${url}?q=it'\\''s' \\\n  -H "Authorization: Bearer $API_KEY"`,
  );
});

test("a command that changes something has a new Idempotency-Key, an extension as well", () => {
  for (const method of ["POST", "PATCH"]) {
    expect(curlOf({ method, body: '{"hold_minutes":5}' }, url).split(" \\\n  ")).toEqual([
      `curl -X ${method} '${url}'`,
      '-H "Authorization: Bearer $API_KEY"',
      '-H "Idempotency-Key: $(uuidgen)"',
      "-H 'Content-Type: application/json'",
      `--data-raw '{"hold_minutes":5}'`,
    ]);
  }
});
