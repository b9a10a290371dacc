import { fastify } from "fastify";
import { expect, it } from "vitest";
import { serveKept } from "./kept-document.ts";
import { codedBody } from "./response-body.ts";

it("a document is made once; one that could not be made is made at the next request", async () => {
  const app = fastify();
  let made = 0;
  serveKept(app, "/document", {
    type: "text/plain",
    make: () => {
      if (++made === 1) throw new Error("the disk is away");
      return codedBody(`made ${made} times`, []);
    },
  });
  const statuses = async () => {
    const answers = await Promise.all([1, 2].map(() => app.inject("/document")));
    return answers.map(({ statusCode, body }) => (statusCode === 200 ? body : statusCode));
  };
  expect(await statuses()).toEqual([500, 500]);
  expect(await statuses()).toEqual(["made 2 times", "made 2 times"]);
  expect(await statuses()).toEqual(["made 2 times", "made 2 times"]);
  await app.close();
});
