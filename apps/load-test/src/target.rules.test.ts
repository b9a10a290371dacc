import { expect, it } from "vitest";
import { requireTarget } from "./target.rules.ts";

it.each(["http://127.0.0.1:3000", "http://localhost:3000/base/", "https://[::1]", "http://127.1", "http://0x7f.1:80"])(
  "%s is this machine, and may be loaded",
  (url) => {
    expect(requireTarget(url, false)).toBe(url.replace(/\/$/, ""));
  },
);

it.each([
  "https://bikes.example.com",
  "http://10.0.0.1",
  "http://localhost.example.com",
  "http://127.0.0.1.example.com",
])("%s is another machine, and is loaded with --yes only", (url) => {
  expect(() => requireTarget(url, false)).toThrow("say --yes to confirm");
  expect(requireTarget(url, true)).toBe(url);
});

it.each(["bikes", "ftp://127.0.0.1", "http://user:secret@127.0.0.1", "http://127.0.0.1/?a=1"])(
  "%s cannot be loaded, with --yes neither",
  (url) => {
    expect(() => requireTarget(url, true)).toThrow("--url must be an http or https URL");
  },
);
