import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";

/** A feed's server on loopback whose answers a test changes. */
export interface FeedServer {
  /** The address of its gbfs.json. */
  readonly url: string;
  /** What it answers by path: a document, something else than one, or nothing (404). */
  readonly pages: Record<string, object | ((response: ServerResponse) => unknown) | undefined>;
  /** Each request so far: its path and the status of the answer. */
  readonly requests: string[];
  close(): Promise<void>;
}

/** Serves documents as JSON with an `ETag`, and a gbfs.json that lists them. */
export async function startFeedServer(documents: Record<string, object>, { etags = true } = {}): Promise<FeedServer> {
  const pages: FeedServer["pages"] = { ...documents };
  const feeds = Object.keys(documents).map((name) => ({ name, url: `${name}.json` }));
  pages["gbfs"] = { last_updated: 0, ttl: 0, data: { feeds } };
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const name = (request.url ?? "").replace(/^\/|\.json$/g, "");
    response.once("close", () => requests.push(`${name} ${response.statusCode}`));
    const page = pages[name];
    if (typeof page === "function") page(response);
    else if (page === undefined) response.writeHead(404).end();
    else {
      const body = JSON.stringify(page);
      const etag = `"${createHash("md5").update(body).digest("hex")}"`;
      if (etags) response.setHeader("etag", etag);
      if (etags && request.headers["if-none-match"] === etag) response.writeHead(304).end();
      else response.end(body);
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the test's server has no port");
  return {
    url: `http://127.0.0.1:${address.port}/gbfs.json`,
    pages,
    requests,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
