import { connect } from "node:net";

/** A response, parsed from the bytes that were received. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/**
 * Sends bytes to a server and reads one response. The response ends when the server closes the connection, or after
 * `Content-Length`; without this header, after its head.
 */
export function sendRaw(url: string, request: string): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect(Number(port), hostname, () => void socket.write(request, "latin1"));
    const finish = () => {
      socket.destroy();
      const answer = parse(text);
      if (answer === undefined) reject(new Error(`no whole answer: ${JSON.stringify(text)}`));
      else resolve(answer);
    };
    socket.setEncoding("utf8").on("data", (part: string) => {
      text += part;
      if (parse(text) !== undefined) finish();
    });
    socket.on("end", finish);
    socket.on("error", (error) => (parse(text) === undefined ? reject(error) : finish()));
  });
}

function parse(text: string): RawAnswer | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = new Headers(
    lines.map((line): [string, string] => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]),
  );
  const body = text.slice(end + 4);
  if (Buffer.byteLength(body) < Number(headers.get("content-length") ?? 0)) return undefined;
  return { status: Number(first.split(" ")[1]), headers, body };
}
