import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";

/** A feed server on loopback whose responses a test can change. */
export interface FeedServer {
  /** The address of the gbfs.json. */
  readonly url: string;
  /** The response for each path: a document, a function that responds, or undefined (404). */
  readonly pages: Record<string, object | ((response: ServerResponse) => unknown) | undefined>;
  /** The requests so far: path and status of the response. */
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
