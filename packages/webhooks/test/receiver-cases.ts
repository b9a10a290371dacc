import { expect, it, vi } from "vitest";
import type { ReceiverOptions } from "../src/fetch.ts";
import { type Delivery, sign, WebhookVerificationError } from "../src/index.ts";
import { signedRequest, TEST_SECRET } from "../src/testing.ts";

/** The answer of a receiver. */
export interface Answered {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

/** A body to send. */
export type RequestBody = string | Uint8Array<ArrayBuffer> | ReadableStream;

/** A receiver that runs in a framework. */
export interface Stand {
  /** Sends a request to the receiver. */
  send(request: { method?: string; headers?: Record<string, string>; body?: RequestBody }): Promise<Answered>;
  /** The errors that reached the framework. */
  readonly reported: readonly unknown[];
}

/** Tests what every receiver guarantees, in any framework. */
export function describeReceiver(start: (options: ReceiverOptions) => Promise<Stand>): void {
  const setUp = async (options: Partial<ReceiverOptions> = {}) => {
    const delivered: Delivery[] = [];
    const onDelivery = (delivery: Delivery) => void delivered.push(delivery);
    return { delivered, stand: await start({ secrets: TEST_SECRET, onDelivery, ...options }) };
  };

  it("passes a delivery to onDelivery and answers 200", async () => {
    const { delivered, stand } = await setUp();
    const { headers, body, delivery } = await signedRequest({ event: "ride.completed", data: { id: "Zürich 🚲" } });
    expect(await stand.send({ headers, body })).toMatchObject({ status: 200, text: "received\n" });
    expect(delivered).toEqual([delivery]);
  });

  it("answers only after onDelivery is done", async () => {
    const { promise: work, resolve: finish } = Promise.withResolvers<void>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const onDelivery = () => (begin(), work);
    const { stand } = await setUp({ onDelivery });
    const answered = vi.fn<(answer: Answered) => void>();
    const answer = stand.send(await signedRequest({ event: "ride.started" })).then(answered);
    await begun;
    expect(answered).not.toHaveBeenCalled();
    finish();
    await answer;
    expect(answered).toHaveBeenCalledWith(expect.objectContaining({ status: 200 }));
  });

  it("accepts unknown events and fields", async () => {
    const { delivered, stand } = await setUp();
    expect(await stand.send(await signedRequest({ event: "bike.repainted", data: { colour: "green" } }))).toMatchObject(
      { status: 200 },
    );
    expect(delivered).toMatchObject([{ event: "bike.repainted", data: { colour: "green" } }]);
  });

  it("accepts a delivery whose envelope has new fields", async () => {
    const { delivered, stand } = await setUp();
    const { delivery } = await signedRequest({ event: "ride.completed" });
    const newer = { ...delivery, status: 500, error: "x", delivery: null };
    const body = JSON.stringify(newer);
    const signature = await sign({ body, secrets: TEST_SECRET, timestamp: Math.floor(Date.now() / 1000) });
    expect(await stand.send({ headers: { "Service-Signature": signature }, body })).toMatchObject({ status: 200 });
    expect(delivered).toEqual([newer]);
  });

  it("answers a repeat with 200 and passes it on once", async () => {
    const handled = new Set<string>();
    const handle = vi.fn<(delivery: Delivery) => void>(({ delivery_id }) => void handled.add(delivery_id));
    const { stand } = await setUp({ onDelivery: handle, seen: async (id) => handled.has(id) });
    const request = { event: "ride.completed", deliveryId: "delivery_1" } as const;
    expect(await stand.send(await signedRequest(request))).toMatchObject({ status: 200, text: "received\n" });
    expect(await stand.send(await signedRequest(request))).toMatchObject({ status: 200, text: "received before\n" });
    expect(handle).toHaveBeenCalledTimes(1);
  });

  it("passes a delivery on again after a failure, because seen() does not record", async () => {
    const handled = new Set<string>();
    let failures = 1;
    const onDelivery = ({ delivery_id }: Delivery) => {
      if (failures-- > 0) throw new Error("the database is away");
      handled.add(delivery_id);
    };
    const { stand } = await setUp({ onDelivery, seen: (id) => handled.has(id), onError: () => undefined });
    const request = { event: "ride.completed", deliveryId: "delivery_1" } as const;
    expect(await stand.send(await signedRequest(request))).toMatchObject({ status: 500 });
    expect(await stand.send(await signedRequest(request))).toMatchObject({ status: 200, text: "received\n" });
  });

  it.each([
    ["another secret", { secret: "whsec_another" }, "no_matching_signature"],
    ["a time long ago", { now: () => Date.now() - 600_000 }, "timestamp_too_old"],
    ["a time to come", { now: () => Date.now() + 600_000 }, "timestamp_too_new"],
  ])("answers 400 with the reason, and no secret, to %s", async (_what, wrong, reason) => {
    const errors: unknown[] = [];
    const { delivered, stand } = await setUp({ onError: (error) => errors.push(error) });
    const { headers, body } = await signedRequest({ event: "ride.completed", ...wrong });
    expect(await stand.send({ headers, body })).toMatchObject({ status: 400, text: `not verified: ${reason}\n` });
    expect(errors).toMatchObject([{ reason }]);
    expect([delivered, stand.reported]).toEqual([[], []]);
  });

  it("answers 400 silently without onError", async () => {
    const { stand } = await setUp();
    expect(await stand.send({ body: "{}" })).toMatchObject({ status: 400, text: "not verified: missing_header\n" });
    expect(await stand.send({})).toMatchObject({ status: 400, text: "not verified: missing_header\n" });
    expect(stand.reported).toEqual([]);
  });

  it("answers 400 to a body that was changed on its way", async () => {
    const { delivered, stand } = await setUp();
    const { headers, body } = await signedRequest({ event: "ride.completed" });
    expect(await stand.send({ headers, body: `${body} ` })).toMatchObject({
      status: 400,
      text: "not verified: no_matching_signature\n",
    });
    expect(delivered).toEqual([]);
  });

  it("uses the bytes and ignores their declared type", async () => {
    const { delivered, stand } = await setUp();
    for (const type of [
      "text/plain; charset=utf-16",
      "application/x-www-form-urlencoded",
      "application/json; charset=latin1",
    ]) {
      const { headers, body } = await signedRequest({ event: "ride.completed", data: { id: "ü" } });
      expect(await stand.send({ headers: { ...headers, "Content-Type": type }, body })).toMatchObject({ status: 200 });
    }
    expect(delivered).toHaveLength(3);
  });

  it.each(["GET", "PUT", "DELETE", "PATCH"])("answers 405 to %s and says what is allowed", async (method) => {
    const { delivered, stand } = await setUp();
    const answer = await stand.send({ method });
    expect(answer).toMatchObject({ status: 405 });
    expect(answer.headers.get("allow")).toBe("POST");
    expect(delivered).toEqual([]);
  });

  it("accepts a body of the largest size, and answers 413 to one that is larger by a byte", async () => {
    const { headers, body } = await signedRequest({ event: "ride.completed" });
    const { stand } = await setUp({ maxBodyBytes: Buffer.byteLength(body) });
    expect(await stand.send({ headers, body })).toMatchObject({ status: 200 });
    expect(await stand.send({ headers, body: `${body}x` })).toMatchObject({ status: 413 });
  });

  it("answers 413 to a body that is larger than its Content-Length, having kept no more than is allowed", async () => {
    const { delivered, stand } = await setUp({ maxBodyBytes: 1000 });
    const chunks = async function* () {
      for (let sent = 0; sent < 64; sent++) yield new Uint8Array(1000);
    };
    expect(await stand.send({ body: ReadableStream.from(chunks()) })).toMatchObject({ status: 413 });
    expect(delivered).toEqual([]);
  });

  it.each([
    [
      "onDelivery throws",
      {
        onDelivery: () => {
          throw new Error("the database is away");
        },
      },
    ],
    ["onDelivery rejects", { onDelivery: () => Promise.reject(new Error("the database is away")) }],
    ["seen rejects", { seen: () => Promise.reject(new Error("the database is away")) }],
  ])("answers 500 when %s, so that the delivery is sent again, and calls onError", async (_when, failing) => {
    const errors: unknown[] = [];
    const { stand } = await setUp({ ...failing, onError: (error) => errors.push(error) });
    const answer = await stand.send(await signedRequest({ event: "ride.completed" }));
    expect(answer).toMatchObject({ status: 500, text: "not received\n" });
    expect(errors).toMatchObject([{ message: "the database is away" }]);
    expect(stand.reported).toEqual([]);
  });

  it("leaves failures to the framework without onError: none is hidden", async () => {
    const { stand } = await setUp({ onDelivery: () => Promise.reject(new Error("the database is away")) });
    expect(await stand.send(await signedRequest({ event: "ride.completed" }))).toMatchObject({ status: 500 });
    expect(stand.reported).toMatchObject([{ message: "the database is away" }]);
  });

  it("does not mistake an error of onDelivery for one of the request, even of the same class", async () => {
    const inner = new WebhookVerificationError("missing_header", "of another request");
    const { stand } = await setUp({ onDelivery: () => Promise.reject(inner), onError: () => undefined });
    expect(await stand.send(await signedRequest({ event: "ride.completed" }))).toMatchObject({ status: 500 });
  });

  it.each([
    ["no secret", { secrets: [] }],
    ["an empty secret", { secrets: "" }],
    ["a secret with its line's end", { secrets: `${TEST_SECRET}\n` }],
    ["a blank secret", { secrets: " " }],
    ["a secret in quotes", { secrets: [TEST_SECRET, `"${TEST_SECRET}"`] }],
    ["a secret that is not set", { secrets: undefined }],
    ["no tolerance", { toleranceSeconds: 0 }],
    ["no bounds", { maxBodyBytes: Number.POSITIVE_INFINITY }],
  ])("cannot be created with %s", async (_what, wrong) => {
    await expect(setUp(wrong as Partial<ReceiverOptions>)).rejects.toThrow(/secret|toleranceSeconds|maxBodyBytes/);
  });
}
