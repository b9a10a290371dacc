import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { downloadExport } from "./download.ts";

const BYTES = new Uint8Array(1000).fill(7);
const FILE = {
  id: "export_1",
  download_url: "https://bikes.example/files/secret-link",
  sha256: createHash("sha256").update(BYTES).digest("hex"),
};

it("gives the bytes of the file, and follows no redirect", async () => {
  const sent: [string, RequestInit][] = [];
  const fetch = (url: string, init: RequestInit) => {
    sent.push([url, init]);
    return Promise.resolve(new Response(BYTES));
  };
  expect(await downloadExport(FILE, { fetch })).toEqual(BYTES);
  expect(sent).toEqual([[FILE.download_url, { signal: null, redirect: "manual" }]]);
});

it.each([
  [410, "ApiError"],
  [503, "ApiError"],
  [302, "UnexpectedResponseError"],
])("an error for status %i has neither the link nor the text of the response", async (status, name) => {
  const headers = { location: "https://evil.example" };
  const response = new Response(`No access to ${FILE.download_url}`, { status, headers });
  const error: unknown = await downloadExport(FILE, { fetch: () => Promise.resolve(response) }).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ name, status, attempts: 1 });
  expect(String(error)).toBe(`${name}: export export_1: status ${status}: read the export again`);
});

it("an error for other bytes than those of the export has no link", async () => {
  const error: unknown = await downloadExport(FILE, { fetch: () => Promise.resolve(new Response("other")) }).catch(
    (thrown: unknown) => thrown,
  );
  expect(String(error)).toBe("UnexpectedResponseError: export export_1: another SHA-256: read the export again");
});
