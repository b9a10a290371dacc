import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { signedRequest } from "../src/testing.ts";
import { receive } from "./readme-example.ts";

test("the README's example is the one that is compiled and run here", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const example = readFileSync(new URL("readme-example.ts", import.meta.url), "utf8");
  expect(readme).toContain(`\`\`\`ts\n${example}\`\`\``);
});

test("the README's example accepts what is signed with its secret and rejects the rest", async () => {
  const { body, headers } = await signedRequest({ event: "ride.completed", secret: "whsec_x" });
  const bytes = new TextEncoder().encode(body);
  expect(await receive(bytes, headers["Service-Signature"], "whsec_x")).toBe(200);
  expect(await receive(bytes, headers["Service-Signature"], "whsec_y")).toBe(400);
  expect(await receive(bytes, null, "whsec_x")).toBe(400);
});
