import { afterAll, beforeAll, expect, it } from "vitest";
import { inspect, openBrowser } from "./browser.harness.ts";
import { API_POLL, callAs } from "./console-client.ts";
import { createPartner } from "./partners.ts";
import { type Answer, type Receiver, startReceiver } from "./receiver.ts";

const { world, visitWith } = openBrowser();

const MARKUP = `</pre><script>alert(1)</script><img src=x onerror="fetch('/stolen')"><iframe src="javascript:alert(2)"></iframe>
<svg onload=alert(3)><base href="https://elsewhere.example/"><meta http-equiv=refresh content="0;url=/stolen">`;
const ANSI = "\u001b[2J\u001b[31mred\u001b]8;;https://elsewhere.example\u0007link\u001b]8;;\u0007\b\b\b";
/**
 * As many bytes as the service keeps, without a space at which a line could wrap: bidirectional overrides and isolates, and
 * stacked combining marks.
 */
const BIDI = "\u202egnp.exe\u2066\u2067\u061c\u0300\u0301\u0489א".repeat(3_000).slice(0, 30_000);

const answers: Readonly<Record<string, Answer>> = {
  markup: { status: 500, headers: hostileHeaders(), body: `${MARKUP}\n${ANSI}` },
  bidi: { status: 500, headers: { "retry-after": "3600" }, body: BIDI },
  // A response whose type is HTML but whose bytes are no text.
  bytes: { status: 200, headers: { "content-type": "text/html" }, body: new Uint8Array(2_048).fill(0xff) },
};

/** Returns hostile headers. Node.js sends headers as Latin-1, so UTF-8 text is converted to its bytes first. */
function hostileHeaders(): Readonly<Record<string, string>> {
  const bytes = (text: string) => Buffer.from(text).toString("latin1");
  return {
    "retry-after": "3600",
    "content-type": "text/html",
    "x-markup": `"><script>alert(4)</script>`,
    "x-bidi": bytes("\u202egnp.exe\u2066"),
    "x-long": "A".repeat(6_000),
    refresh: "0;url=/stolen",
  };
}

let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
});
afterAll(() => receiver.close());

it("what a hostile server answers is shown as text: nothing of it runs, and the page keeps its shape", async () => {
  const partner = await createPartner(world, "Mallory & Daughters <script>alert(5)</script>");
  const cookie = await partner.signIn("admin");
  const { params } = partner;
  const console = await callAs(cookie, world.url);
  await console.webhook.set({ params, body: { url: receiver.url, events: ["station.offline"] } });
  const { page, open } = await visitWith(cookie);
  const asked = new Set<string>();
  const dialogs: string[] = [];
  page.on("request", (request) => asked.add(request.url()));
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.message());
    dialog.dismiss().catch(() => undefined);
  });

  for (const [name, answer] of Object.entries(answers)) {
    receiver.answer = answer;
    const { delivery_id } = await console.webhook.test({ params, body: { event: "station.offline" } });
    const one = { params: { ...params, delivery_id } };
    await expect.poll(async () => (await console.deliveries.get(one)).exchanges.length, API_POLL).toBe(1);
    await open(`/partners/${partner.id}/deliveries/${delivery_id}`);
    await page.getByRole("tablist", { name: "Response body" }).waitFor();
    await inspect(page, `hostile-${name}`);
    await page.getByRole("tablist", { name: "Response body" }).getByRole("tab", { name: "Hex" }).click();
    await page.getByRole("group", { name: "Response body, in hexadecimal" }).waitFor();
    expect(await page.locator("main :is(script, img, iframe, base, meta, object, embed)").count()).toBe(0);
  }
  receiver.answer = answers["markup"] as Answer;
  await open(`/partners/${partner.id}/webhook`);
  await page.getByRole("button", { name: "Try this address" }).click();
  await page.getByRole("group", { name: "The body of the answer" }).getByText("<script>alert(1)").waitFor();
  await inspect(page, "hostile-probe");

  expect(dialogs).toEqual([]);
  // The addresses that pages may request: the pages themselves, their API, and the guides, whose existence they check.
  const own = [`${world.url}/dashboard`, `${world.url}/console/v1/`, `${world.url}/docs`];
  const foreign = [...asked].filter((url) => !own.some((address) => url.startsWith(address)));
  expect(foreign).toEqual([]);
});
