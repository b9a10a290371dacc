import { describe, expect, it } from "vitest";
import { createReceiver } from "../src/fetch.ts";
import { signedRequest, TEST_SECRET } from "../src/testing.ts";
import { describeReceiver } from "./receiver-cases.ts";

describe("a receiver of Requests", () => {
  describeReceiver(async (options) => {
    const receive = createReceiver(options);
    const reported: unknown[] = [];
    return {
      reported,
      async send({ method = "POST", headers = {}, body }) {
        const init = {
          method,
          headers,
          ...(method === "GET" || body === undefined ? {} : { body, duplex: "half" as const }),
        };
        const response = await receive(new Request("https://receiver.example/webhooks", init)).catch(
          (error: unknown) => {
            reported.push(error);
            return new Response("", { status: 500 });
          },
        );
        return { status: response.status, text: await response.text(), headers: response.headers };
      },
    };
  });

  it("fails with advice when the body was read before", async () => {
    const receive = createReceiver({ secrets: TEST_SECRET, onDelivery: () => undefined });
    const { request } = await signedRequest({ event: "ride.completed" });
    await request.json();
    await expect(receive(request)).rejects.toThrow("pass request.clone()");
  });

  it("ends the stream of a body that is too large", async () => {
    const receive = createReceiver({ secrets: TEST_SECRET, onDelivery: () => undefined, maxBodyBytes: 10 });
    let isCancelled = false;
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(8)),
      cancel: () => void (isCancelled = true),
    });
    const init = { method: "POST", body, duplex: "half" as const };
    expect(await receive(new Request("https://receiver.example/", init))).toMatchObject({ status: 413 });
    expect(isCancelled).toBe(true);
  });
});
