import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

/** Prints the files that are loaded with the modules of a service, as its start loads them. */
const program = `
  import { registerHooks } from "node:module";
  const files = [];
  registerHooks({ load: (url, context, next) => { files.push(url); return next(url, context); } });
  for (const module of ["runtime/serve.ts", "runtime/running-service.ts", "runtime/workers.ts"])
    await import(process.argv[1] + "/" + module);
  console.log(JSON.stringify(files));`;

it("a service does not load libraries that only some deployments or requests need", async () => {
  const source = join(import.meta.dirname, "../src");
  const options = ["--conditions=@bikeshare/source", "--input-type=module", "--eval", program, source];
  const { stdout } = await promisify(execFile)(process.execPath, options, { maxBuffer: 8 * 1024 ** 2 });
  const files = JSON.parse(stdout) as string[];
  expect(files.some((file) => file.includes("/node_modules/fastify/"))).toBe(true);
  const seldom = [
    "undici",
    "prom-client",
    "hyparquet-writer",
    "yauzl",
    "yazl",
    "nodemailer",
    "openid-client",
    "ioredis",
  ];
  expect(seldom.filter((name) => files.some((file) => file.includes(`/node_modules/${name}/`)))).toEqual([]);
});
