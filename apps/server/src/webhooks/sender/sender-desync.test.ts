import { expect, it } from "vitest";
import { answer } from "../../../test/servers/raw-receiver.ts";
import type { RawReceiver } from "../../../test/servers/raw-receiver.ts";
import { openReceiver, openSender, post, until } from "../../../test/webhooks/sender.harness.ts";

/** A receiver that answers each request with its place in the order of requests. */
async function openCounting(): Promise<RawReceiver> {
  return openReceiver((socket, nth) => socket.write(answer("200 OK", `answer ${nth}`)));
}

const stray = answer("200 OK", "nobody asked");
const textOf = ({ answerBody }: { readonly answerBody: Uint8Array }): string => Buffer.from(answerBody).toString();

it("an answer that nobody asked for ends the connection it came on", async () => {
  const receiver = await openCounting();
  const sender = openSender();
  await post(sender, receiver.url);
  let isClosed = false;
  receiver
    .last()
    ?.once("close", () => (isClosed = true))
    .write(stray);
  await until(() => isClosed);
  const next = await post(sender, receiver.url);
  expect(next).toMatchObject({ outcome: "succeeded", reusedConnection: false });
  expect(textOf(next)).toBe("answer 1");
});

it.each([
  ["a whole answer", stray],
  ["the beginning of one", "HTTP/1.1 200 OK\r\nContent-Len"],
  ["a 1xx head", "HTTP/1.1 103 Early Hints\r\n\r\n"],
  ["a line end and an answer", `\r\n${stray}`],
  ["a byte", "x"],
])("%s that lies ready as the next request goes out is not taken for its answer", async (_name, early) => {
  const receiver = await openCounting();
  const sender = openSender();
  for (let nth = 0; nth < 20; nth++) {
    const result = await post(sender, receiver.url);
    expect(result).toMatchObject({ outcome: "succeeded", reusedConnection: false });
    expect(textOf(result)).toBe(`answer ${nth}`);
    // In the system's hands when this returns, before the sender hears of it.
    receiver.last()?.write(early);
  }
});

it.each([[[]], [["Connection: close"]]])(
  "an answer before the request was read counts, and the rest of the request holds up no other (%j)",
  async (headers) => {
    const receiver = await openReceiver(
      () => {},
      {},
      (socket) =>
        socket.once("data", () => {
          socket.pause();
          socket.write(answer("413 Too Large", "no", headers));
        }),
    );
    const sender = openSender();
    const body = "x".repeat(8_000_000);
    for (let round = 0; round < 2; round++) {
      const result = await post(sender, receiver.url, body);
      expect(result).toMatchObject({ outcome: "rejected", status: 413, reusedConnection: false });
    }
  },
);
