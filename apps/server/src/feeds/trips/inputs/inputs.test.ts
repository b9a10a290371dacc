import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { crc32, deflateRawSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { download, findInputs, type InputSearch } from "../inputs.ts";
import { readTripText } from "../trip-file.ts";

let directory: string;
let server: Server;
let origin: string;
const handlers = new Map<string, RequestListener>();

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "bikeshare-inputs-"));
  server = createServer((request, response) => {
    const handler = handlers.get(request.url ?? "");
    if (handler === undefined) response.writeHead(404).end();
    else handler(request, response);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  // A server that listens on TCP has an address of this form.
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await rm(directory, { recursive: true });
});

/** Makes a zip archive. @param changes wrong values to write into the headers, such as another size */
function zip(
  files: Readonly<Record<string, string | Buffer>>,
  changes: { crc?: number; size?: number; flags?: number; method?: number } = {},
): Buffer {
  const parts: Buffer[] = [];
  const directoryParts: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(files)) {
    const bytes = Buffer.from(content);
    const packed = deflateRawSync(bytes);
    const header = Buffer.alloc(26);
    header.writeUInt16LE(20, 0);
    header.writeUInt16LE(changes.flags ?? 0, 2);
    header.writeUInt16LE(changes.method ?? 8, 4);
    header.writeUInt32LE(changes.crc ?? crc32(bytes), 10);
    header.writeUInt32LE(packed.length, 14);
    header.writeUInt32LE(changes.size ?? bytes.length, 18);
    header.writeUInt16LE(Buffer.byteLength(name), 22);
    const local = Buffer.concat([Buffer.from("PK\u0003\u0004"), header, Buffer.from(name), packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    directoryParts.push(Buffer.concat([Buffer.from("PK\u0001\u0002\u0014\u0000"), header, rest, Buffer.from(name)]));
    parts.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(directoryParts);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(parts.length, 4);
  end.writeUInt16LE(parts.length, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, central, Buffer.from("PK\u0005\u0006"), end]);
}

async function write(name: string, content: string | Buffer): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, content);
  return path;
}

/** Matches any text that contains a part, or matches a pattern. */
function anything(part: string | RegExp): string {
  // The matchers' own type is `any`.
  return (typeof part === "string" ? expect.stringContaining(part) : expect.stringMatching(part)) as string;
}

/** Returns the text of each input, or why it is rejected, by its name. Names are relative to the test's directory. */
async function read(args: readonly string[], changes: Partial<InputSearch> = {}): Promise<Record<string, string>> {
  return Object.fromEntries(await list(args, changes));
}

/** Like `read`, with an input as often as it is found. */
async function list(args: readonly string[], changes: Partial<InputSearch> = {}): Promise<[string, string][]> {
  const found = await findInputs({
    arguments: args,
    standardInput: Readable.from([]),
    temporaryDirectory: join(directory, "spool"),
    name: "import",
    downloads: { timeoutMs: 60_000, silenceMs: 60_000, signal: new AbortController().signal },
    onBytes: () => undefined,
    ...changes,
  });
  const texts: [string, string][] = found.rejected.map(({ name, error }) => [
    name,
    `${error.reason}: ${error.message}`,
  ]);
  for (const input of found.inputs) texts.push([input.name, await textOf(input)]);
  await found.close();
  return texts.map(([name, text]) => [name.replace(`${directory}/`, "").replace(origin, ""), text]);
}

async function textOf(input: Parameters<typeof readTripText>[0]): Promise<string> {
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of readTripText(input, () => undefined)) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  } catch (error) {
    return String(error);
  }
}

it("an archive's trip files are read in the order of their paths, gzip within and archives within, without what programs leave beside them", async () => {
  const inner = zip({ "02.csv": "feb", "01.csv": "jan" });
  const path = await write(
    "year.zip",
    zip({
      "2021/b.csv": "b",
      "2021/": "",
      "2021/a.csv.gz": gzipSync("a"),
      "__MACOSX/2021/._b.csv": "junk",
      ".DS_Store": "junk",
      "readme.pdf": "junk",
      "months/q1.zip": inner,
    }),
  );
  const texts = await read([path]);
  expect(texts).toEqual({
    "year.zip/2021/a.csv.gz": "a",
    "year.zip/2021/b.csv": "b",
    "year.zip/months/q1.zip/01.csv": "jan",
    "year.zip/months/q1.zip/02.csv": "feb",
  });
  expect(Object.keys(texts)).toEqual(Object.keys(texts).toSorted());
  // Temporary files have no name in the directory.
  expect(await readdir(join(directory, "spool"))).toEqual([]);
});

it("a file in a subfolder named like a trip file or an archive is read once", async () => {
  for (const name of ["2019.zip", "years.csv", "empty.zip"])
    await mkdir(join(directory, "named", name), { recursive: true });
  await write("named/2019.zip/01.csv", "jan");
  await write("named/years.csv/2020.csv", "year");
  expect(await list([join(directory, "named")])).toEqual([
    ["named/2019.zip/01.csv", "jan"],
    ["named/years.csv/2020.csv", "year"],
  ]);
});

it("a folder's trip files and archives are read, its subfolders' too; a pipe, standard input and an address like files", async () => {
  await mkdir(join(directory, "folder/sub"), { recursive: true });
  await write("folder/notes.md", "no");
  await write("folder/.hidden.csv", "no");
  await write("folder/sub/a.csv", "a");
  await write("folder/b.zip", zip({ "x.csv": "x" }));
  expect(await read([join(directory, "folder")])).toEqual({ "folder/b.zip/x.csv": "x", "folder/sub/a.csv": "a" });
  const archive = zip({ "y.csv": "y" });
  expect(await read(["-"], { standardInput: Readable.from([archive.subarray(0, 3), archive.subarray(3)]) })).toEqual({
    "standard input/y.csv": "y",
  });
  expect(await read(["-"], { standardInput: Readable.from([Buffer.from("text")]) })).toEqual({
    "standard input": "text",
  });
  handlers.set("/moved?token=1", (_, response) => response.writeHead(302, { location: "/trips.zip" }).end());
  handlers.set("/trips.zip", ({ headers }, response) =>
    response.end(headers.authorization === `Basic ${btoa("u:p")}` ? archive : zip({ "z.csv": "not let in" })),
  );
  expect(await read([`${origin.replace("//", "//u:p@")}/moved?token=1`])).toEqual({ "/moved/y.csv": "y" });
});

it("what cannot be read is refused by name, and the others are read", async () => {
  await mkdir(join(directory, "empty"), { recursive: true });
  handlers.set("/loop", (_, response) => response.writeHead(302, { location: "/loop" }).end());
  handlers.set("/file", (_, response) => response.writeHead(302, { location: "file:///etc/passwd" }).end());
  const path = (name: string) => join(directory, name);
  const texts = await read([
    path("none.csv"),
    path("empty"),
    await write("no-csv.zip", zip({ "readme.txt.pdf": "no" })),
    await write("cut.zip", zip({ "a.csv": "a" }).subarray(0, -10)),
    await write("damaged.zip", zip({ "a.csv": "a" }, { crc: 1 })),
    await write("secret.zip", zip({ "a.csv": "a" }, { flags: 1 })),
    await write("deflate64.zip", zip({ "a.csv": "a" }, { method: 9 })),
    `${origin}/404`,
    `${origin}/loop`,
    `${origin}/file`,
    await write("good.csv", "good"),
  ]);
  expect(texts).toMatchObject({
    "none.csv": anything("there is no such file"),
    empty: anything("no .csv, .csv.gz or .zip"),
    "no-csv.zip": anything("no .csv file"),
    "cut.zip": anything(/^broken_zip: /),
    "damaged.zip/a.csv": anything("checksum"),
    "secret.zip/a.csv": anything("encrypted"),
    "deflate64.zip/a.csv": anything("method 9"),
    "/404": anything("HTTP 404"),
    "/loop": anything("more than 5 redirects"),
    "/file": anything("not http or https"),
    "good.csv": "good",
  });
});

it("an address leads to public addresses and to its own host and port alone, by redirect too", async () => {
  const asked: (string | undefined)[] = [];
  const inside = createServer((request, response) => {
    asked.push(request.url);
    response.end("a,b");
  });
  await new Promise<void>((resolve) => {
    inside.listen(0, "127.0.0.1", resolve);
  });
  const { port } = inside.address() as AddressInfo; // it listens on TCP
  for (const host of ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"]) {
    handlers.set("/inside", (_, response) =>
      response.writeHead(302, { location: `http://${host}:${port}/latest/meta-data` }).end(),
    );
    expect(await read([`${origin}/inside`])).toMatchObject({
      "/inside": anything("Only public addresses are called, and the host that was configured"),
    });
  }
  inside.close();
  expect(asked).toEqual([]);
});

it("an archive or gzip stream that unpacks to far more than trips do is refused before it has filled the disk", async () => {
  const megabytes = (n: number) => Buffer.alloc(n * 1024 * 1024, "0");
  const bomb = await write("bomb.zip", zip({ "a.csv": megabytes(80) }));
  // The header gives too small a size. Unpacking stops when there are more bytes than that.
  const liar = await write("liar.zip", zip({ "a.csv": megabytes(2) }, { size: 1000 }));
  const nested = await write("nested.zip", zip({ "deep.zip": zip({ "a.csv": megabytes(80) }) }));
  const stream = await write("bomb.csv.gz", gzipSync(megabytes(80)));
  expect(await read([bomb, liar, nested, stream])).toMatchObject({
    "bomb.zip": anything(/^too_large: .*MiB/),
    "liar.zip/a.csv": anything(/too many bytes|cannot be read/),
    "nested.zip/deep.zip": anything(/^too_large: /),
    "bomb.csv.gz": anything(/far more than trips/),
  });
});

it("files whose text is bounded have no more of it together, packed or not", async () => {
  const text = "a,b\n".repeat(100);
  const files = [await write("first.csv", text), await write("second.csv.gz", gzipSync(text))];
  const archive = await write("both.zip", zip({ "1.csv": text, "2.csv": text }));
  expect(Object.keys(await read(files, { maxTextBytes: 800 }))).toEqual(["first.csv", "second.csv.gz"]);
  expect(await read(files, { maxTextBytes: 799 })).toMatchObject({
    "second.csv.gz": anything(/more than 799 B of text/),
  });
  expect(await read([archive], { maxTextBytes: 799 })).toMatchObject({ "both.zip": anything(/^too_large: /) });
});

it("archives in an archive have ten thousand files together; what is beyond is refused as a whole, not file by file", async () => {
  const inner = zip(Object.fromEntries(Array.from({ length: 6_000 }, (_, number) => [`${number}.csv`, ""])));
  const found = await read([await write("many.zip", zip({ "1.zip": inner, "2.zip": inner, "3.zip": inner }))]);
  expect(Object.keys(found).filter((name) => name.startsWith("many.zip/1.zip/"))).toHaveLength(6_000);
  expect(found).toMatchObject({
    "many.zip/2.zip": anything(/^too_large: .*more files than are read/),
    "many.zip/3.zip": anything(/^too_large: .*more files than are read/),
  });
  expect(Object.keys(found)).toHaveLength(6_002);
});

it("a download that is silent, or stopped, ends", async () => {
  handlers.set("/silent", (_, response) => void response.writeHead(200).write("begun"));
  const downloads = { timeoutMs: 60_000, silenceMs: 20, signal: new AbortController().signal };
  expect(await read([`${origin}/silent`], { downloads })).toMatchObject({
    "/silent": anything("sent nothing"),
  });
  const stop = new AbortController();
  const reason = new Error("stopped");
  const stopped = read([`${origin}/silent`], {
    downloads: { ...downloads, silenceMs: 60_000, signal: stop.signal },
    onBytes: () => stop.abort(reason),
  });
  await expect(stopped).rejects.toBe(reason);
});

it("a download waits for its caller without taking that for a silence of the server", async () => {
  const rest = Promise.withResolvers<void>();
  handlers.set("/ready", (_, response) => {
    response.writeHead(200).write("begun");
    rest.promise.then(
      () => response.end(", ended"),
      () => undefined,
    );
  });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const limits = { timeoutMs: 60_000, silenceMs: 1_000, signal: new AbortController().signal };
  const chunks = download(`${origin}/ready`, limits);
  const texts = [String((await chunks.next()).value)];
  vi.advanceTimersByTime(10 * limits.silenceMs);
  rest.resolve();
  for await (const chunk of chunks) texts.push(String(chunk));
  expect(texts.join("")).toBe("begun, ended");
});
