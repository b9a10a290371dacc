import { execFile, execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exampleDeliveries } from "../src/examples.generated.ts";
import { type Delivery, verify } from "../src/index.ts";
import { standardHeadersSync } from "../src/node.ts";
import { createTestDelivery, signedRequest, TEST_SECRET } from "../src/testing.ts";
import { sendTo } from "./loopback.ts";
import { createApp as createExpressApp } from "./recipes/express.ts";
import { createApp as createFastifyApp } from "./recipes/fastify.ts";
import { readDelivery } from "./recipes/standard.ts";
import { work } from "./recipes/work.ts";
import { type Vector, vectors } from "./vectors.ts";

const run = promisify(execFile);
const vectorsFile = fileURLToPath(new URL("../vectors.json", import.meta.url));
const docs = await readFile(new URL("../../../docs/receiving-webhooks.md", import.meta.url), "utf8");
const blocks = [...docs.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = "", code = ""]) => ({
  language,
  code,
}));

/** Returns the only code block of the documentation in a language that contains a text. */
function recipe(language: string, text: string): string {
  const found = blocks.filter((block) => block.language === language && block.code.includes(text));
  expect(found).toHaveLength(1);
  return found[0]!.code;
}

/** The vectors that a recipe must reject. Recipes only verify the signature; the one in Python parses the JSON too. */
const refusable = (...unread: string[]) => vectors.invalid.filter(({ reason }) => !unread.includes(reason));
const named = (list: readonly Vector[]) => list.map(({ name }) => name);

function isOnPath(program: string, ...version: string[]): boolean {
  try {
    execFileSync(program, version, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

const has = {
  python: isOnPath("python3", "--version"),
  go: isOnPath("go", "version"),
  openssl: isOnPath("openssl", "version"),
};
const unless = (program: keyof typeof has) => (has[program] ? "" : ` (skipped: ${program} is not installed)`);

let directory: string;
beforeAll(async () => void (directory = await mkdtemp(join(tmpdir(), "bikeshare-recipes-"))));
afterAll(() => rm(directory, { recursive: true, force: true }));

describe("the guide for receivers", () => {
  const files = ["fetch", "express", "fastify", "inbox", "work", "standard", "receiver.test"];

  it.each(files)("shows recipes/%s.ts, which is compiled and tested, as it is", async (name) => {
    expect(recipe("ts", await readFile(new URL(`recipes/${name}.ts`, import.meta.url), "utf8"))).toBeDefined();
  });

  it("names every event", () => {
    expect(Object.keys(exampleDeliveries).filter((event) => !docs.includes(`\`${event}\``))).toEqual([]);
  });

  it("shows applications that accept a delivery", async () => {
    const kept: string[] = [];
    const inbox = { add: async (delivery: Delivery) => void kept.push(delivery.event) };
    const { headers, body } = await signedRequest({ event: "ride.completed" });
    const app = createFastifyApp(TEST_SECRET, inbox);
    const server = createServer(createExpressApp(TEST_SECRET, inbox));
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    for (const url of [await app.listen({ port: 0, host: "127.0.0.1" }), `http://127.0.0.1:${port}`]) {
      expect(await sendTo(`${url}/webhooks`, { headers, body })).toMatchObject({ status: 200 });
    }
    expect(kept).toEqual(["ride.completed", "ride.completed"]);
    server.closeAllConnections();
    server.close();
    app.server.closeAllConnections();
    await app.close();
  });

  it("shows how a library for Standard Webhooks verifies a delivery, and rejects a changed one", async () => {
    const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
    const { headers, body } = await signedRequest({ event: "ride.completed", secret });
    const { delivery_id: id } = JSON.parse(String(body)) as Delivery;
    const timestamp = Math.floor(Date.now() / 1000);
    const standard = Object.fromEntries(standardHeadersSync({ id, timestamp, body, secrets: ["old", secret] }));
    const ask = (sent: typeof body) =>
      new Request("https://partner.example/webhooks", {
        method: "POST",
        headers: { ...headers, ...standard },
        body: sent,
      });
    expect(await readDelivery(ask(body), secret)).toEqual(JSON.parse(String(body)));
    await expect(readDelivery(ask(`${String(body)} `), secret)).rejects.toThrow("No matching signature");
    expect(standardHeadersSync({ id, timestamp, body, secrets: [TEST_SECRET.replace(/.$/, "_")] })).toEqual([]);
  });

  it("shows work that distinguishes events and ignores unknown ones", async () => {
    const done: unknown[] = [];
    const actions = {
      bill: async (...what: unknown[]) => void done.push(what),
      release: async (bikeId: string) => void done.push(bikeId),
    };
    await work(createTestDelivery({ event: "ride.completed", data: { id: "r", duration_seconds: 60 } }), actions);
    await work(createTestDelivery({ event: "reservation.expired", data: { bike_id: "b" } }), actions);
    await work(createTestDelivery({ event: "newer.than.this" }) as unknown as Delivery, actions);
    expect(done).toEqual([["r", 60], "b"]);
  });

  it("shows only tested code", () => {
    const counts = Object.fromEntries(
      Object.entries(Object.groupBy(blocks, ({ language }) => language)).map(([name, all]) => [name, all!.length]),
    );
    expect(counts).toEqual({ http: 1, text: 1, ts: files.length, python: 1, go: 1, sh: 3 });
  });
});

describe("the recipe in Python", () => {
  it.skipIf(!has.python)(
    `is held against vectors that Python made and not our own code${unless("python")}`,
    async () => {
      const program = fileURLToPath(new URL("../tools/make_vectors.py", import.meta.url));
      const { stdout } = await run("python3", [program], { env: { ...process.env, PYTHONUTF8: "1" } });
      expect(vectors).toEqual(JSON.parse(stdout));
    },
  );

  it.skipIf(!has.python)(`accepts and rejects as the vectors say${unless("python")}`, async () => {
    await writeFile(join(directory, "recipe.py"), recipe("python", "def verify"));
    const program = `
import json, sys
from recipe import verify
accepted = []
vectors = json.load(open(sys.argv[1], encoding="utf-8"))
for vector in vectors["valid"] + vectors["invalid"]:
    try:
        assert verify(vector["body"].encode(), vector["header"], vector["secrets"], vector["now"]) is not None
        accepted.append(vector["name"])
    except ValueError:
        pass
print(json.dumps(accepted))`;
    const { stdout } = await run("python3", ["-c", program, vectorsFile], { cwd: directory });
    expect(withoutUnread(JSON.parse(stdout) as string[], "not_a_delivery")).toEqual(named(vectors.valid));
  });
});

describe("the recipe in Go", () => {
  it.skipIf(!has.go)(`accepts and rejects as the vectors say${unless("go")}`, async () => {
    const main = `package main

import (
	"encoding/json"
	"fmt"
	"os"
	"recipe/webhooks"
	"time"
)

func main() {
	var vectors map[string]json.RawMessage
	text, _ := os.ReadFile(os.Args[1])
	if err := json.Unmarshal(text, &vectors); err != nil {
		panic(err)
	}
	accepted := []string{}
	for _, list := range []string{"valid", "invalid"} {
		var cases []struct {
			Name, Header, Body string
			Secrets            []string
			Now                int64
		}
		if err := json.Unmarshal(vectors[list], &cases); err != nil {
			panic(err)
		}
		for _, c := range cases {
			if webhooks.Verify([]byte(c.Body), c.Header, c.Secrets, time.Unix(c.Now, 0)) == nil {
				accepted = append(accepted, c.Name)
			}
		}
	}
	json, _ := json.Marshal(accepted)
	fmt.Println(string(json))
}
`;
    const module = join(directory, "go");
    await mkdir(join(module, "webhooks"), { recursive: true });
    await writeFile(join(module, "go.mod"), "module recipe\n\ngo 1.18\n");
    await writeFile(join(module, "main.go"), main);
    await writeFile(join(module, "webhooks/verify.go"), recipe("go", "func Verify"));
    const env = { ...process.env, GOCACHE: join(directory, "go-cache"), GOPROXY: "off", GOTOOLCHAIN: "local" };
    await run("go", ["vet", "./..."], { cwd: module, env });
    const { stdout } = await run("go", ["run", ".", vectorsFile], { cwd: module, env });
    const accepted = withoutUnread(JSON.parse(stdout) as string[], "not_a_delivery", "body_not_json");
    expect(accepted).toEqual(named(vectors.valid));
  });
});

function withoutUnread(accepted: readonly string[], ...unread: string[]): string[] {
  const left = new Set(vectors.invalid.filter(({ reason }) => unread.includes(reason)).map(({ name }) => name));
  return accepted.filter((name) => !left.has(name));
}

describe("the recipes for the shell", () => {
  const looked = [...vectors.valid, ...refusable("not_a_delivery", "body_not_json")];

  it.skipIf(!has.openssl)(`accepts and rejects as the vectors say${unless("openssl")}`, async () => {
    await writeFile(join(directory, "verify.sh"), recipe("sh", "# verify.sh"));
    const accepted: string[] = [];
    for (const { name, body, header, secrets, now } of looked) {
      await writeFile(join(directory, "body"), body);
      const env = { ...process.env, NOW: String(now) };
      const result = run("sh", ["verify.sh", "body", header, ...secrets], { cwd: directory, env });
      const text = await result.then(
        ({ stdout }) => stdout,
        (error: unknown) => String(Reflect.get(error as object, "stderr")),
      );
      expect(text).toMatch(/^(verified|refused: .+)\n$/);
      if (text === "verified\n") accepted.push(name);
    }
    expect(accepted).toEqual(named(vectors.valid));
  });

  it.skipIf(!has.openssl)(`sends a signed request${unless("openssl")}`, async () => {
    const script = recipe("sh", "$RECEIVER_URL").replace(/^curl .*$/m, `printf '%s\\n%s' "t=$t,v1=$v1" "$body"`);
    expect(recipe("sh", "$RECEIVER_URL")).toContain(`"Service-Signature: t=$t,v1=$v1" --data-binary "$body"`);
    const { stdout } = await run("sh", ["-c", script], { env: { ...process.env, WEBHOOK_SECRET: "whsec_x" } });
    const [header, body = ""] = stdout.split("\n");
    expect(await verify(body, header, "whsec_x")).toMatchObject({
      event: "ride.completed",
      delivery_id: "delivery_test",
    });
  });
});
