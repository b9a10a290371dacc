// Compiled with Node's types, and with those of Express and Fastify themselves.
import { createServer } from "node:http";
import { createReceiver as createExpressReceiver } from "@bikeshare/webhooks/express";
import { createReceiver as createFastifyReceiver } from "@bikeshare/webhooks/fastify";
import { createReceiver } from "@bikeshare/webhooks/fetch";
import { signSync } from "@bikeshare/webhooks/node";
import express from "express";
import { fastify } from "fastify";

const options = { secrets: "whsec_x", onDelivery: () => undefined, onError: (error: unknown) => void error };

const app = express();
app.post("/webhooks", createExpressReceiver(options));
app.use("/other", createExpressReceiver(options));

const server = fastify();
server.register(createFastifyReceiver({ path: "/webhooks", ...options }));
await server.register(createFastifyReceiver(options), { prefix: "/webhooks" });
fastify({ logger: true, http2: true }).register(createFastifyReceiver(options));

createServer((request, response) => createExpressReceiver(options)(request, response, () => response.destroy()));
export const response: Promise<Response> = createReceiver(options)(new Request("https://receiver.example"));
export const header: string = signSync({ body: Buffer.from("{}"), secrets: ["whsec_x"], timestamp: 1 });
