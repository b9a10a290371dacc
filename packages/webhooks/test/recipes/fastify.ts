import { createReceiver } from "@bikeshare/webhooks/fastify";
import { fastify } from "fastify";
import type { FastifyInstance } from "fastify";
import type { Inbox } from "./inbox.ts";

export function createApp(secret: string, inbox: Inbox): FastifyInstance {
  const app = fastify({ logger: { level: "warn" } });
  const onDelivery = inbox.add.bind(inbox);
  app.register(createReceiver({ path: "/webhooks", secrets: secret, onDelivery }));
  return app;
}
