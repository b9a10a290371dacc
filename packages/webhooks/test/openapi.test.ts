import { createOpenApiDocument } from "@bikeshare/contract/openapi";
import { expect, it } from "vitest";
import { DEFAULT_TOLERANCE_SECONDS, SIGNATURE_HEADER, sign } from "../src/index.ts";

const document = createOpenApiDocument({ baseUrl: "https://bikes.example", version: "1.0.0" });

it("signs in the header, and in the form, that the OpenAPI document describes for every webhook", async () => {
  const form = /^t=\d{10},v1=[0-9a-f]{64}$/;
  expect(await sign({ body: "{}", secrets: "whsec_secret", timestamp: 1_773_476_504 })).toMatch(form);
  for (const [name, { post }] of Object.entries(document.webhooks)) {
    const [header] = post?.parameters ?? [];
    const schema = { examples: [expect.stringMatching(form)] };
    expect(header, name).toMatchObject({ name: SIGNATURE_HEADER, in: "header", required: true, schema });
  }
  expect(DEFAULT_TOLERANCE_SECONDS).toBe(300);
});
