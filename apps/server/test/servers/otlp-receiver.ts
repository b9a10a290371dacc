import { once } from "node:events";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { z } from "zod";

const value = z.object({ stringValue: z.string().optional(), intValue: z.coerce.number().optional() });
const attributes = z
  .array(z.object({ key: z.string(), value }))
  .default([])
  .transform((pairs) =>
    Object.fromEntries(pairs.map(({ key, value: { stringValue, intValue } }) => [key, stringValue ?? intValue])),
  );
const span = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  name: z.string(),
  attributes,
  links: z.array(z.object({ traceId: z.string() })).default([]),
});
/** A span as a collector receives it, with its attributes by name. */
type ReceivedSpan = z.infer<typeof span>;
const request = z.object({
  resourceSpans: z.array(
    z.object({ resource: z.object({ attributes }), scopeSpans: z.array(z.object({ spans: z.array(span) })) }),
  ),
});

/** A collector that receives traces by OTLP over HTTP, in JSON. */
export interface OtlpReceiver {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** Returns everything that it has received, as text. */
  readonly text: () => string;
  close(): Promise<void>;
}

/** Starts a collector. @param headers what each request must have: others are recorded too, but answered with 400 */
export async function startOtlpReceiver(headers: Readonly<Record<string, string>>): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: unknown[] = [];
  const server = createServer((incoming, response) => {
    const isExpected =
      incoming.url === "/v1/traces" && Object.entries(headers).every(([name, text]) => incoming.headers[name] === text);
    const answer = (status: number) => response.writeHead(status, { "content-type": "application/json" }).end("{}");
    json(incoming).then(
      (body) => {
        bodies.push(body);
        for (const { scopeSpans } of request.parse(body).resourceSpans) {
          spans.push(...scopeSpans.flatMap((scope) => scope.spans));
        }
        answer(isExpected ? 200 : 400);
      },
      () => answer(400),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    text: () => JSON.stringify(bodies),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
